package providertest

import (
	"errors"
	"slices"

	"github.com/berth-cloud/berth/provider"
)

// imageCases are about what images declare, and bounds that containers of theirs have.
var imageCases = []Case{
	{Name: "Image/Inspect", run: inspectImage},
	{Name: "Image/Unavailable", run: imageUnavailable},
	{Name: "Provision/PidsLimit", Needs: needProvision, run: pidsLimit},
}

// inspector is the provider, if it is one.
func (e *env) inspector() provider.ImageInspector {
	e.Helper()
	i, ok := e.Provider.(provider.ImageInspector)
	if !ok {
		e.Skipf("the provider does not implement ImageInspector")
	}
	return i
}

// inspect asks until the answer is more than that it will be known.
func (e *env) inspect(ref string) (info *provider.ImageInfo, err error) {
	e.Helper()
	i := e.inspector()
	if !e.Wait(func() bool {
		info, err = i.InspectImage(e.ctx, ref)
		return !errors.Is(err, provider.ErrPending) || e.ctx.Err() != nil
	}) {
		e.Fatalf("what image %s declares never became known: %v", ref, err)
	}
	return info, err
}

func inspectImage(e *env) {
	first, err := e.inspect(e.Images.V1)
	e.must(err, "InspectImage")
	second, err := e.inspect(e.Images.V2)
	e.must(err, "InspectImage")
	if first.Digest == "" || first.Digest == second.Digest {
		e.Errorf("two images have the digests %q and %q", first.Digest, second.Digest)
	}
	if again, err := e.inspect(e.Images.V1); err != nil || again.Digest != first.Digest || !slices.Equal(again.Volumes, first.Volumes) || again.User != first.User {
		e.Errorf("asked again an image that did not change is %+v, %v, before it was %+v", again, err, first)
	}
	if !slices.Equal(provider.ImageVolumes(first.Volumes), first.Volumes) {
		e.Errorf("the volumes %q are not clean, sorted and each there once", first.Volumes)
	}
}

func imageUnavailable(e *env) {
	e.inspector()
	e.need(e.Images.Unknown != "", "unknown image")
	for range 2 {
		info, err := e.inspect(e.Images.Unknown)
		e.want(err, provider.ErrImageUnavailable, "InspectImage of an image that there is none of")
		if info != nil {
			e.Errorf("an image that there is none of is %+v", info)
		}
	}
}

func pidsLimit(e *env) {
	e.need(e.Inspect != nil, "view of the orchestrator")
	req := e.request()
	req.Services[0].Security = &provider.SecuritySpec{PidsLimit: 100}
	e.running(req)
	for _, c := range e.Inspect(req.InstanceID) {
		if c.PidsLimit != 100 {
			e.Errorf("the container is bounded to %d processes, want 100", c.PidsLimit)
		}
	}
	if e.has(provider.CapDeploy) {
		e.deployed(req.InstanceID, e.change("web", e.Images.V2))
		if all := e.Inspect(req.InstanceID); len(all) == 0 || all[0].PidsLimit != 100 {
			e.Errorf("after a deploy that kept it the bound is not there: %+v", all)
		}
	}
	bad := e.request()
	bad.Services[0].Security = &provider.SecuritySpec{PidsLimit: -1}
	e.know(bad.InstanceID)
	if _, err := e.Provider.Provision(e.ctx, bad); !errors.Is(err, provider.ErrInvalid) {
		e.Errorf("Provision with a negative bound returned %v", err)
	}
}
