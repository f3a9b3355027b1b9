package hmacauth

// HoldAtMost sets how many bytes of the bodies of strangers are kept at once.
func (v *Verifier) HoldAtMost(bytes int64) { v.unknown = newCrowd(bytes) }
