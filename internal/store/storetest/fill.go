package storetest

import (
	"fmt"
	"net/netip"
	"reflect"
	"time"
)

// filler gives every field a value of its own that is not the zero value, so
// that a field which is forgotten or mixed up with another is noticed.
type filler struct{ n int }

// filled returns a T with every field set. It panics on a kind of field that it
// does not know: teach it, and the store, the new kind.
func filled[T any](f *filler) T {
	var v T
	f.fill(reflect.ValueOf(&v).Elem(), reflect.TypeFor[T]().Name())
	return v
}

func (f *filler) fill(v reflect.Value, path string) {
	f.n++
	if f.known(v, path) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s %d", path, f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(1000 + f.n))
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, path+" key")
			f.fill(value, path+" value")
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	default:
		panic(fmt.Sprintf("%s is a %s: the round trip cannot fill it", path, v.Type()))
	}
}

// known fills the types that are more than their fields.
func (f *filler) known(v reflect.Value, path string) bool {
	low, high := byte(f.n), byte(f.n>>8)
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = at(f.n).Add(time.Duration(f.n))
	case *netip.Addr:
		*p = netip.AddrFrom4([4]byte{10, 1, high, low})
	case *netip.AddrPort:
		*p = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 2, high, low}), uint16(1000+f.n))
	case *netip.Prefix:
		*p = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, high, low, 0}), 24)
	case *[]byte:
		*p = fmt.Appendf(nil, "%s %d\n", path, f.n)
	default:
		return false
	}
	return true
}

// zeros lists the fields of v, at any depth, that have their zero value.
func zeros(v reflect.Value, path string) []string {
	if v.IsZero() {
		return []string{path}
	}
	switch v.Interface().(type) {
	case time.Time, netip.Addr, netip.AddrPort, netip.Prefix:
		return nil
	}
	var found []string
	switch v.Kind() {
	case reflect.Pointer:
		return zeros(v.Elem(), path)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			found = append(found, zeros(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			found = append(found, zeros(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
	}
	return found
}
