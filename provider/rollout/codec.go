package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/berth-cloud/berth/provider"
)

// format is the number of the form that records are written in. A change that
// an older Berth could not read takes the next one.
const format = 1

// encode writes a record, and drops releases that nothing refers to, the oldest
// first, while it is larger than a store takes.
func encode(rec *record) ([]byte, error) {
	for {
		value, err := json.Marshal(rec)
		if err != nil {
			return nil, fmt.Errorf("encode record of workload %s: %w", rec.Workload, err)
		}
		if len(value) <= provider.MaxRecordSize || !rec.dropOldest() {
			return value, nil
		}
	}
}

// decode reads a record. What it does not know is an error and not forgotten: the
// next write would lose it.
func decode(value []byte) (*record, error) {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.DisallowUnknownFields()
	var rec record
	if err := dec.Decode(&rec); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows it", ErrRecord)
	}
	if rec.Format != format {
		return nil, fmt.Errorf("%w: it is of format %d, not %d", ErrRecord, rec.Format, format)
	}
	if !rec.Open.IsNil() && rec.open() == nil {
		return nil, fmt.Errorf("%w: it lacks its open rollout %s", ErrRecord, rec.Open)
	}
	return &rec, nil
}
