package provider

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// IntOrPercent is a number such as "2" or a share such as "25%". In JSON it may
// also be written as a number. Empty is for whoever uses it to fill in.
type IntOrPercent string

// maxPercent and maxCount bound what an IntOrPercent may say.
const (
	maxPercent = 100
	maxCount   = MaxReplicas
)

// Of is the number, or the share of total, rounded up or down. It is an error
// when p is empty, negative, above 100% or above MaxReplicas.
func (p IntOrPercent) Of(total int, up bool) (int, error) {
	digits, share := strings.CutSuffix(string(p), "%")
	n, err := strconv.ParseUint(digits, 10, 31)
	most := uint64(maxCount)
	if share {
		most = maxPercent
	}
	if err != nil || n > most {
		return 0, fmt.Errorf("%w: %q is neither a number from 0 to %d nor a share from 0%% to %d%%", ErrInvalid, string(p), maxCount, maxPercent)
	}
	if !share {
		return int(n), nil
	}
	product := total * int(n)
	if up {
		product += maxPercent - 1
	}
	return product / maxPercent, nil
}

// UnmarshalJSON reads a string or a number.
func (p *IntOrPercent) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] != '"' && string(b) != "null" {
		var n int
		if err := json.Unmarshal(b, &n); err != nil {
			return fmt.Errorf("%w: %s is neither a number nor a string", ErrInvalid, b)
		}
		*p = IntOrPercent(strconv.Itoa(n))
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*p = IntOrPercent(s)
	return nil
}

// Limits are MaxSurge and MaxUnavailable for a number of groups, rounded as
// Kubernetes does: surge up, unavailable down, and when both come to nothing one
// group may be missing, because the rollout could not move otherwise. A nil r is the defaults.
func (r *RolloutSpec) Limits(replicas int) (surge, unavailable int, err error) {
	maxSurge, maxUnavailable := DefaultMaxSurge, DefaultMaxUnavailable
	if r != nil && r.MaxSurge != "" {
		maxSurge = r.MaxSurge
	}
	if r != nil && r.MaxUnavailable != "" {
		maxUnavailable = r.MaxUnavailable
	}
	if surge, err = maxSurge.Of(replicas, true); err != nil {
		return 0, 0, fmt.Errorf("max surge: %w", err)
	}
	if unavailable, err = maxUnavailable.Of(replicas, false); err != nil {
		return 0, 0, fmt.Errorf("max unavailable: %w", err)
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable, nil
}
