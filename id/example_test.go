package id_test

import (
	"fmt"

	"github.com/berth-cloud/berth/id"
)

func ExampleParse() {
	v, err := id.Parse("wkl06bgm7733st2576nx5jht4ecjw")
	fmt.Println(v.Kind(), v.Time().Year(), err)

	_, err = id.Parse("WKL06BGM7733ST2576NX5JHT4ECJW")
	fmt.Println(err != nil)
	// Output:
	// wkl 2025 <nil>
	// true
}

func ExampleNew() {
	first, second := id.New(id.KindWorkload), id.New(id.KindWorkload)
	fmt.Println(len(first.String()), first.String() < second.String())
	// Output: 29 true
}
