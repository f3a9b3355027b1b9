package netns

import (
	"os"
	"strings"
	"testing"
)

func TestUserDataIsReadAsCloudInitReadsIt(t *testing.T) {
	data, err := os.ReadFile("testdata/userdata.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, err := parseUserData(data)
	if err != nil {
		t.Fatal(err)
	}
	want := []userFile{
		{"berth/agent/ca.crt", []byte("(the certificate of the cluster's authority)\n"), 0o644},
		{"berth/agent/nonce.jwt", []byte("(a token)"), 0o600},
		{"berth/agent/bootstrap.json", []byte(`{"cluster_id":"example"}`), 0o600},
		{"etc/labels", []byte("compressed\n"), 0o644},
	}
	if len(files) != len(want) {
		t.Fatalf("%d files, not %d", len(files), len(want))
	}
	for i, f := range files {
		if f.path != want[i].path || string(f.content) != string(want[i].content) || f.mode != want[i].mode {
			t.Errorf("file %d is %s %v %q, not %s %v %q", i, f.path, f.mode, f.content, want[i].path, want[i].mode, want[i].content)
		}
	}
	for _, nothing := range []string{"", " \n", "#cloud-config\n", "#cloud-config  \n# only words\n", "#cloud-config\nruncmd: [[x]]\n"} {
		if files, err := parseUserData([]byte(nothing)); err != nil || len(files) != 0 {
			t.Errorf("%q: %v, %v", nothing, files, err)
		}
	}
}

// file is user data of one file with these lines.
func file(lines ...string) string {
	return "#cloud-config\nwrite_files:\n- " + strings.Join(lines, "\n  ") + "\n"
}

func TestUserDataThatCannotBeAppliedIsRefusedByItsLineAndNotByItsText(t *testing.T) {
	const secret = "s3cr3t"
	for _, c := range []struct{ data, says string }{
		{"#!/bin/" + secret, "#cloud-config"},
		{"#cloud-config-archive " + secret + "\n", "#cloud-config"},
		{"#cloud-config\n\t" + secret, "no YAML at line 2"},
		{"#cloud-config\n- " + secret + "\n", "line 2: it is no mapping"},
		{"#cloud-config\npackages: [" + secret + "]\n", "line 2: only write_files"},
		{"#cloud-config\n" + secret + ": 1\n", "line 2: only write_files"},
		{"#cloud-config\nwrite_files: " + secret + "\n", "line 2: write_files is no list"},
		{file("path: /root/" + secret), "line 3: the path"},
		{file("path: /var/lib/berth/../" + secret), "line 3: the path"},
		{file("path: /var/lib/berth/x/../../" + secret), "line 3: the path"},
		{file("path: /var/lib/berth//" + secret), "line 3: the path"},
		{file("path: /var/lib/berth/" + secret + "/"), "line 3: the path"},
		{file("path: /var/lib/berthed/" + secret), "line 3: the path"},
		{file("path: /etc/berth"), "line 3: the path"},
		{file("path: var/lib/berth/" + secret), "line 3: the path"},
		{file("content: " + secret), "line 3: a file has no path"},
		{file("path: /etc/berth/x", "content: ["+secret+"]"), "line 4: a file's values"},
		{file("path: /etc/berth/x", "append: true", "content: "+secret), "line 4: a file has path"},
		{file("path: /etc/berth/x", "owner: "+secret), "line 4: the owner"},
		{file("path: /etc/berth/x", "permissions: '04755'", "content: "+secret), "line 4: the permissions"},
		{file("path: /etc/berth/x", "permissions: rwx"), "line 4: the permissions"},
		{file("path: /etc/berth/x", "encoding: b64", "content: '%"+secret+"'"), "line 5: the content is no base64"},
		{file("path: /etc/berth/x", "encoding: gz+b64", "content: c2VjcmV0"), "line 5: the content is no gzip"},
		{file("path: /etc/berth/x", "encoding: rot13", "content: "+secret), "line 5: the encoding"},
		{file("path: /etc/berth/x") + "- path: /etc/berth/x/" + secret + "\n", "a folder of another"},
	} {
		files, err := parseUserData([]byte(c.data))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v, %v; want %q", c.data, files, err, c.says)
		}
	}
}

func FuzzUserDataStaysInItsFolders(f *testing.F) {
	example, err := os.ReadFile("testdata/userdata.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(file("path: &a /etc/berth/x", "content: *a")))
	f.Add([]byte(file("path: !!binary L2V0Yy9iZXJ0aC94", "permissions: 0o7")))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := parseUserData(data)
		if err != nil && len(files) > 0 && len(err.Error()) > 300 {
			t.Errorf("a long error: %v", err)
		}
		if err != nil {
			return
		}
		total := 0
		for _, file := range files {
			below, ok := strings.CutPrefix(file.path, "berth/")
			if !ok {
				below, ok = strings.CutPrefix(file.path, "etc/")
			}
			if !ok || below == "" || strings.HasPrefix(below, "/") || strings.Contains("/"+below+"/", "/../") || strings.ContainsRune(below, 0) {
				t.Errorf("a file at %q", file.path)
			}
			if file.mode&^0o777 != 0 {
				t.Errorf("a file of mode %v", file.mode)
			}
			total += len(file.content)
		}
		if total > maxUnpacked {
			t.Errorf("%d bytes", total)
		}
	})
}
