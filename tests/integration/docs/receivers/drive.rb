# frozen_string_literal: true

# Judges each delivery on standard input by the sample whose path is the argument; prints the verdicts.

require File.expand_path(ARGV.fetch(0))

verdicts = JSON.parse($stdin.read).map do |delivery|
  header = delivery["header"]&.unpack1("m")
  event = QuittanceWebhook.verify(header, delivery["body"].unpack1("m"), delivery["secret"], now: delivery["now"])
  about = event["data"]["object"]
  [event["id"], event["type"], about["reference"], about["amount_details"]["raw"]]
rescue QuittanceWebhook::InvalidSignature
  "refused"
rescue RuntimeError
  "no secret"
end
puts JSON.generate(verdicts)
