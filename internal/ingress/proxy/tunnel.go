package proxy

import "net/http"

func (x *exchange) upgrade(res *http.Response) error {
	return x.headFailed(errInformational)
}
