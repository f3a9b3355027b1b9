package spec

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// quantityForm is the grammar of Kubernetes quantities without a sign: a
// number, then a binary suffix, a decimal suffix or a decimal exponent. Digits
// and exponents are bounded so that no text costs more than its length.
var quantityForm = regexp.MustCompile(
	`^([0-9]{1,24}(?:\.[0-9]{0,24})?|\.[0-9]{1,24})(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,2})?$`)

var quantityExponents = map[string]int64{
	"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}

var binarySuffixes = []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}

// parseQuantity reads a quantity exactly; ok is false when it is none.
func parseQuantity(s string) (q *big.Rat, ok bool) {
	m := quantityForm.FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}
	number, suffix := m[1], m[2]
	q, ok = new(big.Rat).SetString(strings.TrimSuffix(number, "."))
	if !ok {
		return nil, false
	}
	for i, binary := range binarySuffixes {
		if suffix == binary {
			return q.Mul(q, new(big.Rat).SetInt64(1<<(10*(i+1)))), true
		}
	}
	exponent, isSuffix := quantityExponents[suffix]
	if !isSuffix && suffix != "" {
		n, err := strconv.ParseInt(suffix[1:], 10, 8)
		if err != nil {
			return nil, false
		}
		exponent = n
	}
	return scale10(q, exponent), true
}

// scale10 multiplies by a power of ten.
func scale10(q *big.Rat, exponent int64) *big.Rat {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(exponent, -exponent)), nil)
	factor := new(big.Rat).SetInt(power)
	if exponent < 0 {
		factor.Inv(factor)
	}
	return q.Mul(q, factor)
}

// ParseBytes reads an amount of memory as Kubernetes writes it: 256Mi, 1.5Gi,
// 512M, 1e9. It must come to whole bytes.
func ParseBytes(s string) (int64, error) {
	q, ok := parseQuantity(s)
	if !ok {
		return 0, yamlfile.Advise(yamlfile.Quote(s)+" is not an amount of memory", memoryAdvice(s))
	}
	if !q.IsInt() {
		if trimmed, isMilli := strings.CutSuffix(s, "m"); isMilli {
			return 0, yamlfile.Advise(yamlfile.Quote(s)+" means thousandths of a byte", "write "+trimmed+"Mi for mebibytes")
		}
		return 0, yamlfile.Advise(yamlfile.Quote(s)+" is not a whole number of bytes", "write one that is, for example 256Mi")
	}
	if !q.Num().IsInt64() {
		return 0, yamlfile.Advise(yamlfile.Quote(s)+" is more memory than can be counted", "write less, for example 256Mi")
	}
	return q.Num().Int64(), nil
}

// ParseMilliCPU reads an amount of processor as Kubernetes writes it, in cores:
// 250m, 0.5, 2. The answer is in thousandths of a core, which it must come to
// exactly.
func ParseMilliCPU(s string) (int64, error) {
	q, ok := parseQuantity(s)
	if !ok {
		return 0, yamlfile.Advise(yamlfile.Quote(s)+" is not an amount of processor", "write cores, for example 250m or 0.5")
	}
	q = scale10(q, 3)
	if !q.IsInt() {
		return 0, yamlfile.Advise(yamlfile.Quote(s)+" is finer than a thousandth of a core", "the smallest step is 1m, which is 0.001")
	}
	if !q.Num().IsInt64() {
		return 0, yamlfile.Advise(yamlfile.Quote(s)+" is more processor than can be counted", "write cores, for example 250m or 0.5")
	}
	return q.Num().Int64(), nil
}

var looseMemory = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)$`)

// memoryAdvice guesses what was meant, for the message alone.
func memoryAdvice(s string) string {
	const general = "write a number with Ki, Mi or Gi (or k, M, G), for example 256Mi"
	m := looseMemory.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return general
	}
	number, unit := m[1], strings.ToLower(m[2])
	letter := strings.ToUpper(unit[:1])
	if !strings.Contains("KMGTPE", letter) {
		return general
	}
	binary, decimal := number+letter+"i", number+letter
	if letter == "K" {
		decimal = number + "k"
	}
	switch unit[1:] {
	case "i", "ib":
		return "write " + binary
	case "", "b":
		return "write " + binary + " (powers of 1024) or " + decimal + " (powers of 1000)"
	}
	return general
}

// FormatBytes writes an amount of memory as [ParseBytes] reads it, in the
// largest binary unit that leaves a whole number.
func FormatBytes(n int64) string {
	suffix := ""
	for _, next := range binarySuffixes {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, suffix = n/1024, next
	}
	return strconv.FormatInt(n, 10) + suffix
}

// FormatMilliCPU writes an amount of processor as [ParseMilliCPU] reads it:
// whole cores bare, others in thousandths.
func FormatMilliCPU(n int64) string {
	if n%1000 == 0 {
		return strconv.FormatInt(n/1000, 10)
	}
	return strconv.FormatInt(n, 10) + "m"
}
