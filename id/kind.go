package id

// The kinds that Berth itself gives out. A kind is three letters a to z; a
// library user may add others.
const (
	KindWorkload   = "wkl"
	KindRelease    = "rel"
	KindRollout    = "rol"
	KindTenant     = "ten"
	KindNode       = "nod"
	KindTarget     = "tgt"
	KindLease      = "lea"
	KindItem       = "itm"
	KindVolume     = "vol"
	KindToken      = "tok"
	KindSecret     = "sec"
	KindDeployment = "dep"
	KindEvent      = "evt"
)

// kindLen is the length of every kind.
const kindLen = 3

// validKind reports whether kind is three letters a to z.
func validKind(kind string) bool {
	if len(kind) != kindLen {
		return false
	}
	for i := range kindLen {
		if kind[i] < 'a' || kind[i] > 'z' {
			return false
		}
	}
	return true
}
