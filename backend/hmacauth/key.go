package hmacauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Sign is the header of a request: its method, its path with its query, and its
// body. Whoever signs often keeps a Key. The secret may have any length here, as
// those who verify refuse a short one.
func Sign(secret, method, requestURI string, body []byte, now time.Time) string {
	return newKey(secret).Sign(method, requestURI, body, now)
}

// Key is a secret that is ready to sign. Many may use one at once.
type Key struct {
	pool sync.Pool // of *state
}

// state is what one signature needs. The hash keeps what it made of the secret, so
// that only the message is hashed for the next one.
type state struct {
	mac  hash.Hash
	text []byte
	sum  [sha256.Size]byte
}

// maxKeptText bounds the text that waits in the pool, in bytes.
const maxKeptText = 16 << 10

// NewKey makes a Key. The error is ErrSecretTooShort.
func NewKey(secret string) (*Key, error) {
	if len(secret) < MinSecretLength {
		return nil, ErrSecretTooShort
	}
	return newKey(secret), nil
}

func newKey(secret string) *Key {
	k := new(Key)
	k.pool.New = func() any { return &state{mac: hmac.New(sha256.New, []byte(secret))} }
	return k
}

// String hides the secret.
func (k *Key) String() string { return "[redacted]" }

// GoString hides the secret.
func (k *Key) GoString() string { return k.String() }

// Sign is the header of a request: its method, its path with its query as they are
// on the request line, and its body.
func (k *Key) Sign(method, requestURI string, body []byte, now time.Time) string {
	s := signature{unix: now.Unix()}
	s.sum = k.sum(s.unix, method, "", requestURI, sha256.Sum256(body))
	return s.String()
}

// SignRequest sets the header of a request that is ready to be sent with this
// body. A URL or a method that is changed later makes it wrong.
func (k *Key) SignRequest(req *http.Request, body []byte, now time.Time) {
	req.Header.Set(Header, k.Sign(req.Method, req.URL.RequestURI(), body, now))
}

// sum is the HMAC of a request, the path of which begins with prefix.
func (k *Key) sum(unix int64, method, prefix, requestURI string, body [sha256.Size]byte) [sha256.Size]byte {
	st := k.pool.Get().(*state)
	text := strconv.AppendInt(st.text[:0], unix, 10)
	text = append(text, '\n')
	text = append(text, method...)
	text = append(text, '\n')
	text = append(text, prefix...)
	text = append(text, requestURI...)
	text = append(text, '\n')
	text = hex.AppendEncode(text, body[:])

	st.mac.Reset()
	st.mac.Write(text)
	st.mac.Sum(st.sum[:0])
	sum := st.sum
	if st.text = text; cap(text) > maxKeptText {
		st.text = nil
	}
	k.pool.Put(st)
	return sum
}
