package application

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

const (
	controllerPrefix     = "application/"
	finalizerName        = controllerPrefix + "delete-finalizer"
	networkCleanupName   = controllerPrefix + "network-cleanup"
	defaultNetworkPrefix = "berth"
	// sidecarSuffix ends the name of a container that serves another one.
	sidecarSuffix = "-egress"
)

// ContainerName derives the name of a service's first replica from what it
// runs: the same image and nonce always give the same name, another image or
// nonce gives another one, so that both can stand side by side. An empty nonce
// is left out of the hash.
func ContainerName(serviceName, image, restartNonce string) string {
	key := image
	if restartNonce != "" {
		key += "\x00" + restartNonce
	}
	sum := sha256.Sum256([]byte(key))
	return serviceName + "-" + hex.EncodeToString(sum[:4])
}

// ReplicaContainerName is [ContainerName] for the replica of that index;
// index 0 has the name without a suffix.
func ReplicaContainerName(serviceName, image, restartNonce string, index int) string {
	base := ContainerName(serviceName, image, restartNonce)
	if index <= 0 {
		return base
	}
	return fmt.Sprintf("%s-r%d", base, index)
}

// MemberContainerName is the name of an init's or a sidecar's container beside
// the main one. Names of services and members have no dot.
func MemberContainerName(mainName, member string) string { return mainName + "." + member }

// mainName is the name of the main container of a member's group.
func mainName(container string) string {
	name, _, _ := strings.Cut(container, ".")
	return name
}

// ownedSuffix is what follows "<service>-": the hash, from the second replica
// on its index as we write it (no leading zero), and for a container beside the
// main one the member's name.
var ownedSuffix = regexp.MustCompile(`^([0-9a-f]{8})(?:-r[1-9][0-9]*)?(?:\.[a-z0-9-]+)?$`)

// OwnsContainer reports whether the service could have made a container of
// that name, whatever its image and replica. The shape is matched whole: "web"
// does not own "web-worker-0a1b2c3d". Where two services can claim a name
// ("a" and "a-deadbeef"), labels decide, not names.
func OwnsContainer(serviceName, name string) bool {
	return ReleaseKey(serviceName, name) != ""
}

// ReleaseKey returns the hash part of one of the service's container names,
// which all replicas of a release share, or "" for any other name.
func ReleaseKey(serviceName, name string) string {
	rest, ok := strings.CutPrefix(name, serviceName+"-")
	if !ok || serviceName == "" {
		return ""
	}
	m := ownedSuffix.FindStringSubmatch(rest)
	if m == nil {
		return ""
	}
	return m[1]
}

var containerShape = regexp.MustCompile(`^([^.]+)-[0-9a-f]{8}(?:-r[1-9][0-9]*)?(?:\.[a-z0-9-]+)?$`)

// ParseContainerName returns the service that a container name belongs to by
// its shape, sidecars included; ok is false for any other name.
func ParseContainerName(name string) (service string, ok bool) {
	m := containerShape.FindStringSubmatch(strings.TrimSuffix(name, sidecarSuffix))
	if m == nil {
		return "", false
	}
	return m[1], true
}

// ControllerName is the name of a service's controller: "application/<service>".
func ControllerName(serviceName string) string { return controllerPrefix + serviceName }

// IsServiceControllerName reports whether name is the controller of one
// service rather than one of those that look after all of them.
func IsServiceControllerName(name string) bool {
	service, ok := strings.CutPrefix(name, controllerPrefix)
	return ok && service != "" && !strings.Contains(service, "/") &&
		name != finalizerName && name != networkCleanupName
}

// NetworkName is the Docker network that the services of an app share:
// "<prefix>-app-<app>".
func NetworkName(prefix, appID string) string {
	return NetworkPrefixOrDefault(prefix) + "-app-" + appID
}

// NetworkPrefixOrDefault is prefix, or "berth" for an empty one.
func NetworkPrefixOrDefault(prefix string) string {
	if prefix == "" {
		return defaultNetworkPrefix
	}
	return prefix
}

// ServiceAlias is the name by which the services of an app reach this one on
// their network: the short name, or the full one outside an app.
func ServiceAlias(desired *store.DesiredService) string {
	if desired.AppID != "" {
		if short, ok := strings.CutPrefix(desired.Name, desired.AppID+"-"); ok && short != "" {
			return short
		}
	}
	return desired.Name
}

// NameImage is the image identity that container names hash. The id of a local
// build is part of it: the same tag built again is another image.
func NameImage(svc store.DesiredService) string {
	return imageIdentity(svc.Image, svc.LocalImageID)
}

func imageIdentity(image, localID string) string {
	if localID == "" {
		return image
	}
	return image + "\x00id:" + localID
}

// SameNode reports whether two node ids name the same node; "" and localNodeID
// both name this machine.
func SameNode(a, b, localNodeID string) bool {
	if a == "" {
		a = localNodeID
	}
	if b == "" {
		b = localNodeID
	}
	return a == b
}

// PrimaryAddr is the address to dial for a container's port: the container's
// own on its network, never a published port, which accepts connections even
// while nothing listens behind it.
func PrimaryAddr(state *docker.ContainerState, port int) (string, error) {
	switch {
	case state == nil:
		return "", fmt.Errorf("dial port %d: %w", port, docker.ErrNotFound)
	case port <= 0 || port > 65535:
		return "", fmt.Errorf("dial container %s: port %d is not in 1..65535", state.Name, port)
	case !state.Address.IsValid():
		return "", fmt.Errorf("dial container %s: it has no address on its network", state.Name)
	}
	return fmt.Sprintf("%s:%d", state.Address, port), nil
}

// releaseContainer is the name of a replica of a release.
func releaseContainer(r *store.Release, replica int) string {
	return ReplicaContainerName(r.Service, releaseIdentity(r), r.Nonce, replica)
}

func releaseIdentity(r *store.Release) string {
	if r.Local {
		return imageIdentity(r.Image, r.ImageID)
	}
	return r.Resolved
}

// memberContainer is the name of a member's container in a replica of a release.
func memberContainer(r *store.Release, replica int, m spec.Member) string {
	name := releaseContainer(r, replica)
	if m.Role == spec.RoleMain {
		return name
	}
	return MemberContainerName(name, m.Name)
}

// releaseNonce is what container names hash beside the image: twelve hex of
// the spec's hash, with the images of inits and sidecars if there are any, and
// the restart count once there was a restart.
func releaseNonce(specHash string, members []store.MemberImage, restartNonce string) string {
	nonce := specHash
	if len(members) > 0 {
		h := sha256.New()
		h.Write([]byte(specHash))
		for _, m := range members {
			h.Write([]byte("\x00" + m.Name + "\x00" + cmp.Or(m.Resolved, m.ImageID)))
		}
		nonce = hex.EncodeToString(h.Sum(nil))
	}
	if len(nonce) > 12 {
		nonce = nonce[:12]
	}
	if restartNonce != "" {
		nonce += "." + restartNonce
	}
	return nonce
}
