package netns

// CutBefore makes the provider's calls end before an effect when cut says so.
func (p *Provider) CutBefore(cut func(effect string) error) { p.host.Before = cut }
