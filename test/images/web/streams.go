package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

const (
	eventInterval = 100 * time.Millisecond
	maxMessage    = 1 << 20
)

// events streams numbered server-sent events, ?interval= milliseconds apart,
// going on after Last-Event-ID. When the server stops, the last event is named
// "end" and the body ends as it should.
func (s *site) events(w http.ResponseWriter, r *http.Request) {
	interval := eventInterval
	if ms, err := strconv.Atoi(r.URL.Query().Get("interval")); err == nil && ms > 0 {
		interval = time.Duration(ms) * time.Millisecond
	}
	id, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	c := http.NewResponseController(w)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		id++
		fmt.Fprintf(w, "id: %d\ndata: %s\n\n", id, s.version)
		if c.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-s.streams.Done():
			fmt.Fprintf(w, "event: end\nid: %d\ndata: %s\n\n", id+1, s.version)
			return
		}
	}
}

// socket gives every WebSocket message back. When the server stops it closes
// with 1001, going away.
func (s *site) socket(w http.ResponseWriter, r *http.Request) {
	// Counted before it is hijacked: until then Shutdown waits for this handler.
	s.sockets.Add(1)
	defer s.sockets.Done()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxMessage)

	// A hijacked connection outlives r.Context, so reading gets its own end.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		echoMessages(ctx, conn)
	}()
	select {
	case <-ended:
	case <-s.streams.Done():
		conn.Close(websocket.StatusGoingAway, "the server stops")
		cancel()
		<-ended
	}
}

// echoMessages goes on until the connection ends.
func echoMessages(ctx context.Context, conn *websocket.Conn) {
	for {
		kind, message, err := conn.Read(ctx)
		if err != nil {
			var closed websocket.CloseError
			if !errors.As(err, &closed) {
				conn.CloseNow()
			}
			return
		}
		if conn.Write(ctx, kind, message) != nil {
			return
		}
	}
}
