package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// decodeProvisions reads a list of leases.
func decodeProvisions(body []byte) (out ListProvisionsResponse, err error) {
	out.Provisions, out.Continue, err = decodeList(body, "provisions", func(d *json.Decoder, p *ProvisionInfo) (string, error) {
		err := p.read(d.Decode) // as its UnmarshalJSON does, and the bytes are gone through once
		return p.LeaseUUID, err
	})
	return out, err
}

// decodeRetentions reads a list of retained leases.
func decodeRetentions(body []byte) (out ListRetentionsResponse, err error) {
	out.Retentions, out.Continue, err = decodeList(body, "retentions", func(d *json.Decoder, r *RetainedLease) (string, error) {
		err := d.Decode(r)
		return r.LeaseUUID, err
	})
	return out, err
}

// decodeList reads a list, and tells an empty one from an answer that has none: from
// the first a caller concludes that nothing is there.
//
// It stops at the first lease without a name, so that a body of a few bytes each for
// millions of them does not become a hundred times as much memory. A list that is
// there twice is none: one reader would take the one, another the other. The same goes
// for the token.
func decodeList[T any](body []byte, field string, one oneOf[T]) (list []T, next string, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := expect(d, '{'); err != nil {
		return nil, "", err
	}
	tokens := 0
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, "", err
		}
		switch {
		case key == field && list != nil, key == "continue" && tokens > 0:
			return nil, "", fmt.Errorf("it has %q twice", key)
		case key == field:
			list, err = decodeItems(d, field, one)
		case key == "continue":
			tokens++
			err = d.Decode(&next)
		default:
			err = d.Decode(new(passedOver))
		}
		if err != nil {
			return nil, "", err
		}
	}
	if err := ended(d, '}'); err != nil {
		return nil, "", err
	}
	if list == nil {
		return nil, "", fmt.Errorf("it has no list of %s", field)
	}
	return list, next, nil
}

// oneOf reads one item of a list, and says what its lease is called.
type oneOf[T any] func(d *json.Decoder, into *T) (name string, err error)

func decodeItems[T any](d *json.Decoder, field string, one oneOf[T]) ([]T, error) {
	if err := expect(d, '['); err != nil {
		return nil, err
	}
	list := []T{}
	for d.More() {
		var item T
		switch name, err := one(d, &item); {
		case err != nil:
			return nil, err
		case name == "":
			return nil, fmt.Errorf("one of its %s, number %d, has no lease_uuid", field, len(list)+1)
		}
		list = append(list, item)
	}
	return list, expect(d, ']')
}

// maxReleases is how many releases of a lease are believed.
const maxReleases = 10_000

// decodeReleases reads what was deployed of a lease; null is nothing.
func decodeReleases(body []byte) ([]ReleaseInfo, error) {
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if err := expect(d, '['); err != nil {
		return nil, err
	}
	var list []ReleaseInfo
	for d.More() {
		if len(list) == maxReleases {
			return nil, fmt.Errorf("it has more than %d releases", maxReleases)
		}
		var one ReleaseInfo
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, ended(d, ']')
}

// ended is whether a body ends with a bracket.
func ended(d *json.Decoder, bracket json.Delim) error {
	if err := expect(d, bracket); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it goes on after its end")
	}
	return nil
}

func expect(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err == nil && got != want {
		err = fmt.Errorf("it has no %q where there must be one", want)
	}
	return err
}

// passedOver is a value that is read and forgotten.
type passedOver struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*passedOver) UnmarshalJSON([]byte) error { return nil }
