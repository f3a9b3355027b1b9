// Package config reads which backends there are from a YAML file, for whoever holds
// the ledger of leases and for an operator's tools:
//
//	backends:
//	  - name: docker-1
//	    url: https://docker-1.internal:9001
//	    secret_file: docker-1.secret
//	    skus:
//	      - a1b2c3d4-e5f6-7890-abcd-1234567890ab
//	    timeout: 30s
//	    tls:
//	      ca_file: ca.pem
//	      cert_file: holder.pem
//	      key_file: holder-key.pem
//	      allowed_names: [docker-1.internal]
//	  - name: spare
//	    url: http://10.0.0.7:9001
//	    secret_file: spare.secret
//	    default: true
//
// [Load] reads a file and those that it names, and reports everything that is wrong
// with its line. [Config.Router] makes a backend.Router, of clients that the caller
// makes. The names of files begin at the folder of the file that names them.
//
// What must never happen here: a connection, a key that is passed over, a secret in
// an error or in what is printed of a [Config], a secret taken from a file that
// others can read.
package config
