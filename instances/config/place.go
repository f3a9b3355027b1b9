package config

// Storage is the bucket in which the servers of a shard keep its records; the zero value
// is a folder of the only server.
type Storage struct {
	// Endpoint is the URL of an S3 store; empty is that there is none.
	Endpoint  string `json:"endpoint,omitempty"`
	Bucket    string `json:"bucket,omitempty"`
	Region    string `json:"region,omitempty"`
	Prefix    string `json:"prefix,omitempty"`
	PathStyle bool   `json:"path_style,omitempty"`
	// The files have a key each, and stay out of this text.
	AccessKeyFile string `json:"access_key_file,omitempty"`
	SecretKeyFile string `json:"secret_key_file,omitempty"`
	// SealKeyFile has the key that seals the cluster's secrets in the bucket.
	SealKeyFile string `json:"seal_key_file,omitempty"`
}

// Local reports whether there is no bucket.
func (s Storage) Local() bool { return s.Endpoint == "" }

func (k *checker) storage(path string, s Storage) {
	if s == (Storage{}) {
		return
	}
	for _, one := range []struct{ key, value string }{
		{"endpoint", s.Endpoint}, {"bucket", s.Bucket}, {"access_key_file", s.AccessKeyFile},
		{"secret_key_file", s.SecretKeyFile}, {"seal_key_file", s.SealKeyFile},
	} {
		if one.value == "" {
			k.bad(path+"."+one.key, "this is missing; without storage a folder of this server is used")
		}
	}
	if s.Prefix != "" && !prefix.MatchString(s.Prefix) {
		k.bad(path+".prefix", "%q has to be letters, digits, dashes and slashes between them", clip(s.Prefix))
	}
}
