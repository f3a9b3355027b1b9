package infra

import "context"

// Provider makes, finds and removes the machines of one owner. Each
// implementation passes infratest; doc.go lists the rules. All methods may be
// called from many goroutines, return when ctx ends, and return errors that
// the predicates of this package understand.
type Provider interface {
	// Kind is the name under which a Registry opens it, such as "qemu".
	Kind() string

	// CreateInstance makes the machine of req.InstanceID, or returns the one that
	// the same bytes made before. It does not wait for the machine to run.
	//
	// ErrConflict: the id has a machine of other bytes, or one that is being
	// removed. ErrInvalidRequest, ErrNoCapacity, ErrThrottled, ErrUnavailable:
	// this call made nothing. Any other error, ErrAmbiguous among them: perhaps
	// it did, see PerhapsCreated.
	CreateInstance(ctx context.Context, req CreateInstanceRequest) (*Instance, error)

	// DeleteInstance begins to remove the machine of an instance. nil says that
	// the provider has accepted it, or that there is no machine of this instance;
	// it does not say that the machine is gone. It is gone when
	// GetInstanceStatus answers ErrInstanceNotFound or StatusDeleted. providerID
	// is a hint and may be empty or out of date.
	DeleteInstance(ctx context.Context, instanceID, providerID string) error

	// GetInstanceStatus looks the machine of an instance up. It sees every
	// create that has returned, and every one that took effect without returning,
	// however far the list lags. providerID is a hint that may save a call; what
	// it names counts only when it carries the instance's mark.
	//
	// ErrInstanceNotFound is the provider's word that there is no such machine,
	// and is never the answer when the provider could not be asked.
	GetInstanceStatus(ctx context.Context, instanceID, providerID string) (*Instance, error)

	// ListInstances returns one page of the owner's machines. What is there from
	// the first page to the last is on at least one of them, whatever comes and
	// goes between; it may be on two. A machine made or removed a short while ago
	// may be missing or still there: absence from the list is no proof. Use
	// ListAll for the whole list.
	ListInstances(ctx context.Context, req ListInstancesRequest) (*ListInstancesResponse, error)

	// CheckSubnetCapacity says whether a subnet has room for one more machine,
	// without reserving it. A provider that cannot tell says true. A subnet that
	// is known not to exist is ErrInvalidRequest.
	CheckSubnetCapacity(ctx context.Context, subnetID string) (bool, error)
}

// Bounds of a page.
const (
	DefaultPage = 100  // machines, when Limit is 0
	MaxPage     = 1000 // machines; a larger Limit means this
)

// ListInstancesRequest asks for one page.
type ListInstancesRequest struct {
	ClusterID string
	Shard     string
	// Limit is the most machines of a page, DefaultPage when 0. A page may be
	// shorter, or empty, and still have a NextToken.
	Limit int
	// NextToken is from the page before, and empty for the first. One that the
	// provider did not give is ErrInvalidRequest.
	NextToken string
}

// Owner is whose machines are asked for.
func (r ListInstancesRequest) Owner() Owner { return Owner{ClusterID: r.ClusterID, Shard: r.Shard} }

// PageSize is Limit within its bounds; below 0 it is ErrInvalidRequest.
func (r ListInstancesRequest) PageSize() (int, error) {
	switch {
	case r.Limit < 0:
		return 0, invalid("a page of %d machines; 0 means %d", r.Limit, DefaultPage)
	case r.Limit == 0:
		return DefaultPage, nil
	}
	return min(r.Limit, MaxPage), nil
}

// ListInstancesResponse is one page. NextToken is empty on the last one alone.
type ListInstancesResponse struct {
	Instances []Instance
	NextToken string
}
