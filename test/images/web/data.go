package main

import (
	"io"
	"net/http"
	"os"
)

// readData and writeData keep small files in the data directory, so that a test
// can see what a volume carries from one release to the next.
func (s *site) readData(w http.ResponseWriter, r *http.Request) {
	root, err := os.OpenRoot(s.dataDir)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer root.Close()
	content, err := root.ReadFile(r.PathValue("name"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Write(content)
}

func (s *site) writeData(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxData))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	root, err := os.OpenRoot(s.dataDir)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer root.Close()
	if err := root.WriteFile(r.PathValue("name"), content, 0o644); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
