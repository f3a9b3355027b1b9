package backend_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/berth-cloud/berth/backend"
)

func TestValidationErrorsHaveACode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want backend.ValidationCode
	}{
		"none":                    {nil, ""},
		"another error":           {errors.New("unknown SKU"), ""},
		"a validation error":      {backend.ErrValidation, ""},
		"an unknown SKU":          {backend.ErrUnknownSKU, backend.ValidationCodeUnknownSKU},
		"a manifest":              {backend.ErrInvalidManifest, backend.ValidationCodeInvalidManifest},
		"an image":                {backend.ErrImageNotAllowed, backend.ValidationCodeImageNotAllowed},
		"wrapped":                 {fmt.Errorf("lease 1: %w", backend.ErrImageNotAllowed), backend.ValidationCodeImageNotAllowed},
		"joined with another":     {errors.Join(errors.New("other"), backend.ErrInvalidManifest), backend.ValidationCodeInvalidManifest},
		"of two always the first": {errors.Join(backend.ErrImageNotAllowed, backend.ErrUnknownSKU), backend.ValidationCodeUnknownSKU},
		"a refusal of a restore":  {backend.ErrDemoteDataExceedsTier, ""},
	} {
		if got := backend.ClassifyValidationError(c.err); got != c.want {
			t.Errorf("%s has the code %q; want %q", name, got, c.want)
		}
	}
}

func TestErrorsAreToldApart(t *testing.T) {
	all := []error{
		backend.ErrNotProvisioned, backend.ErrAlreadyProvisioned, backend.ErrInvalidState, backend.ErrInsufficientResources,
		backend.ErrNotRetained, backend.ErrRestoreRefused, backend.ErrDemoteDataExceedsTier, backend.ErrCircuitOpen,
		backend.ErrResponseTooLarge, backend.ErrMalformedErrorBody, backend.ErrUnknownSKU, backend.ErrInvalidManifest, backend.ErrImageNotAllowed,
	}
	for i, a := range all {
		for j, b := range all {
			if errors.Is(a, b) != (i == j) {
				t.Errorf("%q is %q: %v", a, b, i != j)
			}
		}
		_, validation := map[error]bool{backend.ErrUnknownSKU: true, backend.ErrInvalidManifest: true, backend.ErrImageNotAllowed: true}[a]
		if errors.Is(a, backend.ErrValidation) != validation {
			t.Errorf("%q is a validation error: %v", a, !validation)
		}
	}
}

func TestTheEnvelopeHasCodesOnlyWhereThereAreAny(t *testing.T) {
	for want, e := range map[string]backend.ErrorResponse{
		`{"error":"words"}`: {Error: "words"},
		`{"error":"words","validation_code":"unknown_sku"}`:   {Error: "words", ValidationCode: backend.ValidationCodeUnknownSKU},
		`{"error":"words","code":"demote_exceeds_tier"}`:      {Error: "words", Code: backend.ErrorCodeDemoteExceedsTier},
		`{"error":"","code":"already_provisioned"}`:           {Code: backend.ErrorCodeAlreadyProvisioned},
		`{"error":"w","validation_code":"invalid_manifest"}`:  {Error: "w", ValidationCode: backend.ValidationCodeInvalidManifest},
		`{"error":"w","validation_code":"image_not_allowed"}`: {Error: "w", ValidationCode: backend.ValidationCodeImageNotAllowed},
	} {
		if got, err := json.Marshal(e); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
