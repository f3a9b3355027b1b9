package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Names in a machine's folder.
const (
	SpecFile    = "spec.json"
	ProcessFile = "process.json"
	StateFile   = "state.json"
	// StartedFile is there from the moment at which the machine's own life began.
	StartedFile = "started"
	// LockFile is locked while a launcher or the machine's first process lives.
	LockFile = "life.lock"
	// The folders that the machine sees as EngineRoot, BerthRoot and EtcRoot.
	EngineDir = "engine"
	BerthDir  = "berth"
	EtcDir    = "etc"
	LogDir    = "log"
)

// Where a machine sees its folders, and its engine.
const (
	EngineRoot   = "/var/lib/docker"
	BerthRoot    = "/var/lib/berth"
	EtcRoot      = "/etc/berth"
	AgentRoot    = BerthRoot + "/agent"
	EngineSocket = "/run/docker.sock"
	execRoot     = "/run/docker"
	enginePID    = "/run/docker.pid"
	runDir       = "/run/berth"
	engineConfig = runDir + "/engine.json"
	agentProgram = runDir + "/agent"
)

// maxJSON bounds the files that are read from a machine's folder.
const maxJSON = 1 << 20

// Spec is what the provider wants of the inside. It holds no secret.
type Spec struct {
	Hostname string
	// Netns is the path of the network namespace to enter.
	Netns string
	// Engine is the absolute path of dockerd.
	Engine string
	// RestartEngine starts the engine again when it ends by itself.
	RestartEngine bool
	// Agent is the agent's program by absolute path, and its first arguments;
	// empty is a machine without an agent.
	Agent []string
	// Bridge is the engine's own network, as address/bits.
	Bridge             string
	CgroupParent       string
	InsecureRegistries []string
	// GraceSeconds is how long the containers, and then the engine, may take to end.
	GraceSeconds int
}

// Phase is where a machine is, as it says itself.
type Phase string

// The phases. Running begins with the engine's first answer and lasts while the
// machine does, whatever becomes of the engine.
const (
	Booting  Phase = "booting"
	Running  Phase = "running"
	Stopping Phase = "stopping"
	Stopped  Phase = "stopped"
	Failed   Phase = "failed"
)

// State is how the machine is, by its own word.
type State struct {
	Phase Phase
	// Error is why it failed.
	Error  string `json:",omitempty"`
	Engine Part
	Agent  Part
}

// Part is one of the programs that a machine runs.
type Part struct {
	// PID is in the machine's own count, and 0 while it does not run.
	PID int
	// Starts is how often it was started.
	Starts int
	// Answers reports whether the engine answered since it was started last.
	Answers bool `json:",omitempty"`
}

// ReadState reads what the machine in a folder said last.
func ReadState(folder *os.Root) (State, error) {
	var s State
	err := ReadJSON(folder, StateFile, &s)
	return s, err
}

// ReadJSON reads a file of a machine's folder. A missing one is fs.ErrNotExist.
func ReadJSON(folder *os.Root, name string, to any) error {
	f, err := folder.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if len(raw) > maxJSON {
		return fmt.Errorf("read %s: more than %d bytes", name, maxJSON)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// WriteJSON replaces a file of a machine's folder at once, and lasts over a loss of
// power. One writer at a time for each name.
func WriteJSON(folder *os.Root, name string, from any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	tmp := name + ".new"
	f, err := folder.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(append(raw, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = folder.Rename(tmp, name)
	}
	if err == nil {
		err = Sync(folder)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Sync makes the names in a folder last.
func Sync(folder *os.Root) error {
	d, err := folder.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
