package yamlfile

import "strings"

// PlainKey folds dependsOn, depends-on and DEPENDS_ON into depends_on.
func PlainKey(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '-' || r == ' ':
			b.WriteByte('_')
		case r >= 'A' && r <= 'Z':
			if i > 0 && s[i-1] >= 'a' && s[i-1] <= 'z' {
				b.WriteByte('_')
			}
			b.WriteRune(r + 'a' - 'A')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Nearest is the name that a word is a slip of, or "".
func Nearest(word string, names []string) string {
	if len(word) > 64 {
		return ""
	}
	word = PlainKey(word)
	best, bestCost := "", 3
	for _, name := range names {
		cost := distance(word, name)
		if cost < bestCost && cost*3 <= max(len(word), len(name)) {
			best, bestCost = name, cost
		}
	}
	return best
}

// distance counts the letters to insert, remove, replace or swap with their
// neighbour to come from a to b.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
