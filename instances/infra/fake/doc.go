// Package fake is a machine provider without machines, for tests: it does the
// same at the same call and the same instant, however often it is run.
//
// A [Cloud] holds the machines; [Cloud.Provider] opens it for an owner, as often
// as there are owners, restarts and leaders in a test. Time is what its clock
// says, so that booting, deleting and the lag of lists take none. [Cloud.Script]
// makes calls fail before or after their effect, hang, or lie; [Cloud.OnCall]
// cuts the caller before and after every call; [Cloud.Alive] and [Cloud.History]
// are what really is and was there, whatever the calls said.
//
// Tests of the machines floor use it. It passes infratest, alone and with every
// fault that the contract permits.
//
// What must never happen here: a behaviour that no real provider has and no
// option or fault names, or a wait on real time other than for the end of a
// context.
package fake
