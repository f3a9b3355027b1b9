package config

import "time"

// defaults is a configuration in which nothing was said.
func defaults() *Config {
	return &Config{
		Shard: Shard{
			UserdataURLs: UserdataURLs{Timeout: Duration(10 * time.Second), MaxBytes: 1 << 20},
			Timings: Timings{
				RequestTimeout:      Duration(30 * time.Second),
				HealthCheckInterval: Duration(time.Minute),
				DefaultDrainTimeout: Duration(5 * time.Minute),
				LaunchTimeout:       Duration(5 * time.Minute),
				ClockSkew:           Duration(30 * time.Second),
				ImageRefresh:        Duration(6 * time.Hour),
				RetryMin:            Duration(5 * time.Second),
				RetryMax:            Duration(2 * time.Minute),
				ShutdownTimeout:     Duration(10 * time.Second),
			},
			GC: GC{
				Interval:               Duration(2 * time.Minute),
				RegistrationTimeout:    Duration(5 * time.Minute),
				DeletedRecordRetention: Duration(30 * time.Minute),
				MinAge:                 Duration(15 * time.Minute),
				MaxDeletes:             10,
			},
			Election: Election{
				Interval:     Duration(5 * time.Second),
				IdleInterval: Duration(30 * time.Second),
				Timeout:      Duration(15 * time.Second),
			},
		},
		Certificates: Certificates{
			CATTL:            Duration(87600 * time.Hour),
			ServerTTL:        Duration(8760 * time.Hour),
			AgentTTL:         Duration(24 * time.Hour),
			OperatorTTL:      Duration(24 * time.Hour),
			OperatorTokenTTL: Duration(3 * time.Hour),
		},
	}
}

// settle fills in what follows from what was said, so that two ways to say one
// thing have one hash.
func (c *Config) settle() {
	c.Defaults.Userdata.settle()
	for _, t := range c.Templates {
		t.Userdata.settle()
	}
	for name, image := range c.Images {
		if len(image.Filters) > 0 {
			if image.Sort == "" {
				image.Sort = "creation-date"
			}
			if image.Order == "" {
				image.Order = "desc"
			}
			c.Images[name] = image
		}
	}
	c.static = map[GroupKey]Group{}
	for key, g := range c.Groups.all() {
		c.static[key] = g
	}
}

func (u *Userdata) settle() {
	if u == nil {
		return
	}
	if u.Source == "" && u.URL != "" && u.Content == "" {
		u.Source = "url"
	}
	if u.Source == "" {
		u.Source = "inline"
	}
	if u.Encoding == "" {
		u.Encoding = "plain"
	}
}
