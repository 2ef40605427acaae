# frozen_string_literal: true

require "json"
require "openssl"

module QuittanceWebhook
  TOLERANCE_SECONDS = 300

  # Not signed by Quittance, or too old. Respond with 400 and change nothing.
  class InvalidSignature < StandardError; end

  # Returns the event in body (the raw bytes) if header, the Service-Signature, signs it; else raises.
  def self.verify(header, body, secret, now: Time.now.to_i)
    raise "The webhook secret is not set." if secret.to_s.empty? # anyone could sign with an empty one

    fields = header.to_s.b.split(",").map { |field| field.partition("=").values_at(0, 2) }
    timestamp = fields.to_h.fetch("t", "")
    raise InvalidSignature, "The header is not t=<seconds>,v1=<hex>." unless timestamp.match?(/\A[0-9]{1,12}\z/)
    raise InvalidSignature, "Signed too long ago, or in the future." if (now - timestamp.to_i).abs > TOLERANCE_SECONDS

    expected = OpenSSL::HMAC.hexdigest("SHA256", secret, "#{timestamp}.#{body}")
    # While a secret is being rotated there are several v1=; one match is enough.
    signatures = fields.filter_map { |name, value| value if name == "v1" }
    unless signatures.any? { |each| OpenSSL.secure_compare(expected, each) }
      raise InvalidSignature, "No signature matches."
    end

    JSON.parse(body.dup.force_encoding(Encoding::UTF_8))
  end
end
