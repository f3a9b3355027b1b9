package nodehttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/berth-cloud/berth/internal/node"
)

const (
	// maxBody bounds a request and an answer, in bytes: rules have bounds of their own.
	maxBody = 256 << 10
	// patience bounds one request, on top of the caller's own deadline.
	patience = 30 * time.Second

	pathSet   = "/v1/firewall"
	pathCheck = "/v1/firewall/check"
)

// problem is every answer but success.
type problem struct {
	Code  string `json:"code"`
	Error string `json:"error"`
}

// standing is the answer to what stands; its list is never null.
type standing struct {
	Standing []node.Standing `json:"standing"`
}

// kinds are the errors of the contract, as they go over the wire.
var kinds = []struct {
	code string
	err  error
}{
	{"rules", node.ErrRules}, {"unable", node.ErrUnable}, {"differs", node.ErrDiffers},
}

// Handler serves a host.
func Handler(h node.Host) http.Handler {
	mux := http.NewServeMux()
	withRules := func(do func(context.Context, node.Rules) error) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			var r node.Rules
			d := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxBody))
			d.DisallowUnknownFields()
			if err := d.Decode(&r); err != nil {
				answer(w, fmt.Errorf("%w: %w", node.ErrRules, err))
				return
			}
			answer(w, do(req.Context(), r))
		}
	}
	mux.HandleFunc("PUT "+pathSet, withRules(h.Firewall))
	mux.HandleFunc("POST "+pathCheck, withRules(h.CheckFirewall))
	mux.HandleFunc("DELETE "+pathSet+"/{name}", func(w http.ResponseWriter, req *http.Request) {
		answer(w, h.DropFirewall(req.Context(), req.PathValue("name")))
	})
	mux.HandleFunc("GET "+pathSet, func(w http.ResponseWriter, req *http.Request) {
		stand, err := h.Standing(req.Context())
		if err != nil {
			answer(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(standing{Standing: stand})
	})
	return mux
}

func answer(w http.ResponseWriter, err error) {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	p := problem{Code: "internal", Error: err.Error()}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			p.Code = k.code
			break
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(p)
}

// Client is a host that a Handler serves.
type Client struct {
	http *http.Client
}

var _ node.Host = (*Client)(nil)

// New is a client over connections of dial's. Close it when done.
func New(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Client {
	return &Client{http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DialContext: dial, MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second, DisableCompression: true},
	}}
}

// Close gives up idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Firewall implements node.Host.
func (c *Client) Firewall(ctx context.Context, r node.Rules) error {
	return c.do(ctx, http.MethodPut, pathSet, r, nil)
}

// CheckFirewall implements node.Host.
func (c *Client) CheckFirewall(ctx context.Context, r node.Rules) error {
	return c.do(ctx, http.MethodPost, pathCheck, r, nil)
}

// DropFirewall implements node.Host.
func (c *Client) DropFirewall(ctx context.Context, name string) error {
	if name == "" || name == "." || name == ".." {
		return fmt.Errorf("%w: %q is not the name of any", node.ErrRules, name)
	}
	return c.do(ctx, http.MethodDelete, pathSet+"/"+url.PathEscape(name), nil, nil)
}

// Standing implements node.Host.
func (c *Client) Standing(ctx context.Context) ([]node.Standing, error) {
	var all standing
	if err := c.do(ctx, http.MethodGet, pathSet, nil, &all); err != nil {
		return nil, err
	}
	return all.Standing, nil
}

// do makes a request, and reads what is answered with into out, which may be nil.
func (c *Client) do(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://host"+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask the machine about its firewall: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	switch {
	case err != nil:
		return fmt.Errorf("ask the machine about its firewall: %w", err)
	case res.StatusCode == http.StatusNoContent && out == nil:
		return nil
	case res.StatusCode == http.StatusOK && out != nil:
		if err := json.Unmarshal(text, out); err != nil {
			return fmt.Errorf("ask the machine about its firewall: what it answered is not known: %w", err)
		}
		return nil
	}
	var p problem
	if json.Unmarshal(text, &p) != nil || p.Code == "" {
		return fmt.Errorf("ask the machine about its firewall: it answered %s", res.Status)
	}
	for _, k := range kinds {
		if p.Code == k.code {
			return &failure{text: p.Error, kind: k.err}
		}
	}
	return errors.New(p.Error)
}

// failure is the host's error in its own words, of a kind of the contract.
type failure struct {
	text string
	kind error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.kind }
