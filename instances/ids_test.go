package instances_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances"
)

// vectors are ids and their storage keys, as other implementations have them too.
var vectors = map[string]string{
	"knc06bgm7733st2576nx5jht4ecjw": "01970a1c-e31e-7422-9cd5-e9651d11cc97-knc",
	"abc06awcb4f5hzmfey7qwt7s8a6q4": "0195c62c-8f2c-7f47-bbc7-bf347ca146b9-abc",
}

func TestStorageKeysAndIDsAreOneToOne(t *testing.T) {
	for instanceID, key := range vectors {
		if got, err := instances.StorageKey(instanceID); err != nil || got != key {
			t.Errorf("StorageKey(%s) = %s, %v", instanceID, got, err)
		}
		if got, err := instances.ParseStorageKey(key); err != nil || got != instanceID {
			t.Errorf("ParseStorageKey(%s) = %s, %v", key, got, err)
		}
	}
}

func TestOtherSpellingsAreNoIDs(t *testing.T) {
	for _, text := range []string{
		"", "ab", "knc", "KNC06bgm7733st2576nx5jht4ecjw", "knc06bgm7733st2576nx5jht4ecjx", "knc06bgm7733st2576nx5jht4ecj",
		"knc06bgm7733st2576nx5jht4ecjww", " knc06bgm7733st2576nx5jht4ecjw", "knc06bgm7733st2576nx5jht4ecj/", "../../../etc/passwd-xx.json.knc",
	} {
		if got, err := instances.StorageKey(text); !errors.Is(err, instances.ErrInvalidID) {
			t.Errorf("StorageKey(%q) = %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "short", "01970a1c-e31e-7422-9cd5-e9651d11cc97xknc", "01970a1c-e31e-7422-9cd5-e9651d11cc97-", "01970a1c-e31e-7422-9cd5-e9651d11cc97-toolong",
		"01970A1C-e31e-7422-9cd5-e9651d11cc97-knc", "01970a1ce31e-7422-9cd5-e9651d11cc97--knc", "01970a1c-e31e-4422-9cd5-e9651d11cc97-knc",
		"01970a1c-e31e-7422-1cd5-e9651d11cc97-knc", "01970a1c-e31e-7422-9cd5-e9651d11cc97-KNC", "01970a1c/e31e-7422-9cd5-e9651d11cc97-knc",
	} {
		if got, err := instances.ParseStorageKey(text); !errors.Is(err, instances.ErrInvalidID) {
			t.Errorf("ParseStorageKey(%q) = %q, %v", text, got, err)
		}
	}
}

func TestStorageKeysSortByTime(t *testing.T) {
	var keys []string
	for range 200 {
		key, err := instances.StorageKey(id.New("knc").String())
		must(t, err)
		keys = append(keys, key)
	}
	if !slices.IsSorted(keys) {
		t.Fatal("a later id has an earlier key")
	}
}

func FuzzParseStorageKey(f *testing.F) {
	for _, key := range vectors {
		f.Add(key)
		f.Add(strings.ToUpper(key))
	}
	f.Add("short")
	f.Fuzz(func(t *testing.T, text string) {
		instanceID, err := instances.ParseStorageKey(text)
		if err != nil {
			if instanceID != "" {
				t.Fatalf("%q with %v", instanceID, err)
			}
			return
		}
		if again, err := instances.StorageKey(instanceID); err != nil || again != text {
			t.Fatalf("%q is read as %s, whose key is %q, %v", text, instanceID, again, err)
		}
	})
}
