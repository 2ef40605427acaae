// Judges each delivery on standard input by the sample, built as the package `webhooks`; prints the verdicts.
package main

import (
	"encoding/json"
	"errors"
	"os"
	"time"

	"receiver/webhooks"
)

type delivery struct {
	Header, Body []byte // base64 in JSON
	Secret       string
	Now          int64
}

func verdict(d delivery) any {
	event, err := webhooks.Verify(string(d.Header), d.Body, d.Secret, time.Unix(d.Now, 0))
	switch {
	case errors.Is(err, webhooks.ErrSignature):
		return "refused"
	case err != nil && event == nil:
		return "no secret"
	case err != nil:
		panic(err)
	}
	about := event.Data.Object
	return []string{event.ID, event.Type, about.Reference, about.AmountDetails.Raw}
}

func main() {
	var deliveries []delivery
	if err := json.NewDecoder(os.Stdin).Decode(&deliveries); err != nil {
		panic(err)
	}
	verdicts := []any{}
	for _, each := range deliveries {
		verdicts = append(verdicts, verdict(each))
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		panic(err)
	}
}
