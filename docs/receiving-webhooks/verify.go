package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

const tolerance = 300 * time.Second

// ErrSignature means: not signed by Quittance, or too old. Respond with 400 and change nothing.
var ErrSignature = errors.New("webhooks: invalid signature")

// Event omits the integer "amount", which may exceed an int64: AmountDetails.Raw has it as a string, for math/big.
type Event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		Object struct {
			Reference      string `json:"reference"`
			PaymentRequest string `json:"payment_request"`
			RequestStatus  string `json:"request_status"`
			Test           bool   `json:"test"`
			AmountDetails  struct {
				Raw string `json:"raw"`
			} `json:"amount_details"`
		} `json:"object"`
	} `json:"data"`
}

// Verify returns the event in body (the raw bytes) if header, the Service-Signature, signs it.
func Verify(header string, body []byte, secret string, now time.Time) (*Event, error) {
	if secret == "" {
		return nil, errors.New("webhooks: the secret is not set") // anyone could sign with an empty one
	}
	var timestamp string
	var signatures []string // several while a secret is being rotated
	for _, field := range strings.Split(header, ",") {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "t":
			timestamp = value
		case "v1":
			signatures = append(signatures, value)
		}
	}
	seconds, err := strconv.ParseUint(timestamp, 10, 32)
	if err != nil {
		return nil, ErrSignature
	}
	if age := now.Sub(time.Unix(int64(seconds), 0)); age > tolerance || age < -tolerance {
		return nil, ErrSignature
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	for _, signature := range signatures {
		if hmac.Equal(expected, []byte(signature)) {
			event := new(Event)
			return event, json.Unmarshal(body, event)
		}
	}
	return nil, ErrSignature
}
