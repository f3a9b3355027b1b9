// Package agent is what runs on a machine that joined a cluster: `berth-node agent`.
//
// It makes the machine's key, trades a one-time token for a certificate, renews that at two
// thirds of its life, and keeps a control connection to the server and, when there is one,
// another to the data plane's process. By these it is asked to dial, and answers with one
// more connection each, which ends in the machine's container engine, in what the agent
// serves of the host, or at an address that the machine reaches. It listens nowhere.
//
// # Rights
//
// The agent decides what each control may ask for. The server's may ask for everything:
// it owns the machine. The data plane's may ask for addresses alone, and only for those of
// running containers with Berth's label on bridges of the machine's engine; never for
// the engine, the host, loopback or any address of the machine's own. So whoever breaks into the
// data plane owns no machine.
//
// # Away
//
// A control plane that is away changes nothing here. Connections that stand go on, the
// agent dials again for ever, with growing and jittered pauses, and no container is ever
// stopped by it: it asks the engine to list, and for nothing else. A refusal that only a
// person can end (a token that was used, an instance that was deleted, a copied identity)
// is logged once and asked again every few minutes.
//
// # Folder
//
//	bootstrap.json  where the control plane is, and which instance this is
//	ca.crt          the cluster's authority
//	nonce.jwt       the token, until the certificate is there
//	identity.key    Ed25519, PKCS #8; written before anything is sent
//	identity.crt
//	lock            held by the agent that runs
//
// Every file that the agent writes is written whole, mode 0600: killed at any moment, it
// goes on with the same key.
//
// What must never happen here: a key that leaves the machine or is made twice; a dial that
// is not asked about rights; a connection that outlives both its ends.
package agent
