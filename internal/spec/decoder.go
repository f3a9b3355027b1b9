package spec

import "github.com/berth-cloud/berth/internal/spec/yamlfile"

// decoder reads one app.yaml.
type decoder struct {
	yamlfile.Decoder
	opts Options
}

type (
	value        = yamlfile.Value
	field[T any] = yamlfile.Field[*decoder, T]
)

func missingAdvice(name string) string {
	switch name {
	case "name":
		return "name the app, for example: name: shop"
	case "labels":
		return "write the labels of the nodes, for example: {labels: {disk: ssd}}, or the name of one node in place of the map"
	case "move_after":
		return "write the time, for example: {move_after: 5m}, or keep in place of the map"
	case "services":
		return "write at least one service with an image"
	case "image":
		return "name the image to run, for example: image: ghcr.io/shop/web:1.4"
	}
	return "write it"
}
