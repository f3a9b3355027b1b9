package wire

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// The protocols that ALPN settles on.
const (
	ProtocolControl = "berth-control/1"
	ProtocolDial    = "berth-dial/1"
)

// HeartbeatEvery is how often an agent is heard of; either side gives up after
// HeartbeatMisses of them.
const (
	HeartbeatEvery  = 10 * time.Second
	HeartbeatMisses = 3
)

// The bounds of a rhythm that a welcome asks for.
const (
	HeartbeatLeast = time.Second
	HeartbeatMost  = time.Minute
)

// Kind is what a dial leads to.
type Kind string

// The kinds. A server's control may ask for each, the data plane's for Address alone, and
// for it only where apps are.
const (
	KindEngine  Kind = "engine"  // the machine's container engine
	KindHost    Kind = "host"    // what the agent serves of the host, over HTTP
	KindAddress Kind = "address" // an IP address and a TCP port, as the machine sees them
)

// Message is one frame of a control connection. Exactly one field is set.
type Message struct {
	Hello     *Hello     `json:"hello,omitempty"`
	Heartbeat *Heartbeat `json:"heartbeat,omitempty"`
	Notice    *Notice    `json:"notice,omitempty"`
	Dialed    *Dialed    `json:"dialed,omitempty"`

	Welcome *Welcome `json:"welcome,omitempty"`
	Refused *Refused `json:"refused,omitempty"`
	Ack     *Ack     `json:"ack,omitempty"`
	Dial    *Dial    `json:"dial,omitempty"`
	Ping    *Ping    `json:"ping,omitempty"`
	Bye     *Bye     `json:"bye,omitempty"`
}

// Hello is what an agent says first.
type Hello struct {
	InstanceID string `json:"instance_id"` // as in its certificate
	Version    string `json:"version"`
	// BootID is the kernel's. It tells a machine that started again from one that was
	// copied.
	BootID string `json:"boot_id"`
	// Resume is the token of the welcome before, when this connection takes over from
	// one of the same process. Without it, one that is alive is not given up.
	Resume string `json:"resume,omitempty"`
	Facts  Facts  `json:"facts"`
}

// Facts are what does not change while a machine runs.
type Facts struct {
	Hostname    string   `json:"hostname,omitempty"`
	OS          string   `json:"os,omitempty"`
	Arch        string   `json:"arch,omitempty"`
	Kernel      string   `json:"kernel,omitempty"`
	CPUs        int      `json:"cpus,omitempty"`
	MemoryBytes uint64   `json:"memory_bytes,omitempty"`
	Addresses   []string `json:"addresses,omitempty"` // of its interfaces, loopback aside
}

// Heartbeat says that the agent is alive.
type Heartbeat struct {
	Seq     uint64  `json:"seq"` // from 1, one more each time
	Metrics Metrics `json:"metrics"`
}

// Metrics are a machine's at one moment. What is not known is 0.
type Metrics struct {
	Load1                float64 `json:"load1,omitempty"`
	MemoryAvailableBytes uint64  `json:"memory_available_bytes,omitempty"`
	UptimeSeconds        uint64  `json:"uptime_seconds,omitempty"`
	Dials                int     `json:"dials,omitempty"` // connections that are carried
}

// NoticeTermination: the provider takes the machine away.
const NoticeTermination = "termination"

// Notice is something that the control plane shall know at once.
type Notice struct {
	Kind string    `json:"kind"`
	At   time.Time `json:"at,omitzero"` // when it happens; zero: not known
}

// Welcome takes a hello.
type Welcome struct {
	// Resume is for the hello of the next connection of this process.
	Resume string `json:"resume"`
	// HeartbeatMS is how often the other end wants to hear of the agent, in
	// milliseconds; 0 does not say.
	HeartbeatMS int64 `json:"heartbeat_ms,omitempty"`
}

// Heartbeat is the rhythm that a welcome asks for, within the bounds; HeartbeatEvery when
// it says none.
func (w *Welcome) Heartbeat() time.Duration {
	if w.HeartbeatMS <= 0 {
		return HeartbeatEvery
	}
	ms := min(max(w.HeartbeatMS, HeartbeatLeast.Milliseconds()), HeartbeatMost.Milliseconds())
	return time.Duration(ms) * time.Millisecond
}

// Refused ends a connection, with one of the codes.
type Refused struct {
	Code  string `json:"code"`
	Error string `json:"error"`
}

// Ack answers a heartbeat.
type Ack struct {
	Seq uint64 `json:"seq"`
}

// Ping asks for a heartbeat at once.
type Ping struct{}

// Bye is the last message to a connection that another one has taken over from: dials
// that came before it are still to be answered.
type Bye struct{}

// Dial asks for a connection.
type Dial struct {
	ID      string `json:"id"`
	Kind    Kind   `json:"kind"`
	Address string `json:"address,omitempty"` // of KindAddress: 10.1.2.3:80, [fd00::3]:80
}

// Dialed says why a dial is not done. One that is done is answered by its connection.
type Dialed struct {
	ID    string `json:"id"`
	Code  string `json:"code"`
	Error string `json:"error"`
}

// Codes of Dialed.
const (
	DialRefused     = "refused"     // this control may not ask for that
	DialUnreachable = "unreachable" // nobody answers there
	DialBusy        = "busy"        // as many connections as the agent carries stand already
)

// Opened is the first and only frame of a connection that answers a dial. With an error
// nothing follows.
type Opened struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
}

// Bounds of what a message may hold, in bytes.
const (
	maxWord      = 128
	maxText      = 512
	maxAddresses = 64
)

// Check refuses, with ErrFrame, a message that is not exactly one, or one with a text
// that nobody would send: what passes may be kept and logged.
func (m *Message) Check() error {
	set := 0
	for _, is := range []bool{
		m.Hello != nil, m.Heartbeat != nil, m.Notice != nil, m.Dialed != nil,
		m.Welcome != nil, m.Refused != nil, m.Ack != nil, m.Dial != nil, m.Ping != nil, m.Bye != nil,
	} {
		if is {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("%w: it has %d messages that are known, not one", ErrFrame, set)
	}
	var err error
	switch {
	case m.Hello != nil:
		h := m.Hello
		err = errors.Join(short(maxWord, h.InstanceID, h.Version, h.BootID, h.Resume), h.Facts.check())
	case m.Notice != nil:
		err = short(maxWord, m.Notice.Kind)
	case m.Dialed != nil:
		err = errors.Join(short(maxWord, m.Dialed.ID, m.Dialed.Code), short(maxText, m.Dialed.Error))
	case m.Welcome != nil:
		err = short(maxWord, m.Welcome.Resume)
	case m.Refused != nil:
		err = errors.Join(short(maxWord, m.Refused.Code), short(maxText, m.Refused.Error))
	case m.Dial != nil:
		err = short(maxWord, m.Dial.ID, string(m.Dial.Kind), m.Dial.Address)
	}
	return err
}

func (f *Facts) check() error {
	if len(f.Addresses) > maxAddresses {
		return fmt.Errorf("%w: %d addresses", ErrFrame, len(f.Addresses))
	}
	return errors.Join(short(maxText, f.Hostname, f.Kernel), short(maxWord, f.OS, f.Arch), short(maxWord, f.Addresses...))
}

// short refuses texts that are too long, or have bytes in them that are not text.
func short(most int, texts ...string) error {
	for _, t := range texts {
		if len(t) > most {
			return fmt.Errorf("%w: a text of %d bytes, %d is the most", ErrFrame, len(t), most)
		}
		for _, r := range t {
			if r < ' ' || r == 0x7f {
				return fmt.Errorf("%w: a text with control characters", ErrFrame)
			}
		}
	}
	return nil
}

// Clip shortens a text of our own so that it may be sent as an error.
func Clip(text string) string {
	clean := make([]rune, 0, min(len(text), maxText))
	size := 0
	for _, r := range text {
		if r < ' ' || r == 0x7f {
			r = ' '
		}
		if size += len(string(r)); size > maxText {
			break
		}
		clean = append(clean, r)
	}
	return string(clean)
}

// ReadMessage reads and checks one frame of a control connection.
func ReadMessage(r io.Reader) (*Message, error) {
	var m Message
	if err := ReadFrame(r, &m); err != nil {
		return nil, err
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return &m, nil
}
