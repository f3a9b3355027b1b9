package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

const (
	dialRounds = 11
	dialBytes  = 64 << 20 // of one round
	dialTrips  = 500
	dialOpens  = 50
)

// way opens a connection to a target.
type way func(ctx context.Context, address string) (net.Conn, error)

// measureDial compares connections through an agent with direct ones, in turns.
func measureDial(ctx context.Context, o options) (_ []line, err error) {
	c, err := startControl(ctx, o)
	defer func() { err = errors.Join(err, c.stop()) }()
	if err != nil {
		return nil, err
	}
	sends, stopSends, err := target(ctx, func(conn net.Conn) {
		junk := make([]byte, 256<<10)
		for {
			if _, err := conn.Write(junk); err != nil {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	defer stopSends()
	echoes, stopEchoes, err := target(ctx, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	if err != nil {
		return nil, err
	}
	defer stopEchoes()
	ways := [2]way{
		func(ctx context.Context, address string) (net.Conn, error) {
			return c.hub.Dial(ctx, c.instance, wire.KindAddress, address)
		},
		func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}
	bulk, err := inTurns(ctx, ways, func(ctx context.Context, w way) (float64, error) { return throughput(ctx, w, sends) })
	if err != nil {
		return nil, err
	}
	trip, err := inTurns(ctx, ways, func(ctx context.Context, w way) (float64, error) { return roundTrips(ctx, w, echoes) })
	if err != nil {
		return nil, err
	}
	open, err := inTurns(ctx, ways, func(ctx context.Context, w way) (float64, error) { return opens(ctx, w, echoes) })
	if err != nil {
		return nil, err
	}
	beside := func(format string, direct float64, of string) string {
		return fmt.Sprintf("a direct connection "+format+"; `berth-node agent` and both ends on this machine; medians of %d rounds of %s in turns", direct, dialRounds, of)
	}
	return []line{
		{What: "machines, throughput through an agent", Value: bulk[0], Format: "%.0f MB/s", Detail: beside("%.0f MB/s", bulk[1], fmt.Sprintf("%d MiB", dialBytes>>20))},
		{What: "machines, round trip of a byte through an agent", Value: trip[0], Format: "%.0f µs", Detail: beside("%.0f µs", trip[1], fmt.Sprintf("%d trips on one connection", dialTrips))},
		{What: "machines, a connection through an agent until its first byte is back", Value: open[0], Format: "%.2f ms", Detail: beside("%.2f ms", open[1], fmt.Sprintf("%d connections", dialOpens))},
	}, nil
}

// inTurns are the medians of both ways.
func inTurns(ctx context.Context, ways [2]way, measure func(context.Context, way) (float64, error)) (medians [2]float64, err error) {
	var all [2][]float64
	for n := range dialRounds + 1 {
		for turn := range ways {
			side := (turn + n) % 2
			round, cancel := context.WithTimeout(ctx, awaitTime)
			value, err := measure(round, ways[side])
			cancel()
			if err != nil {
				return medians, err
			}
			if n > 0 {
				all[side] = append(all[side], value)
			}
		}
	}
	return [2]float64{median(all[0]), median(all[1])}, nil
}

// open is a connection with the deadline of its round.
func (w way) open(ctx context.Context, address string) (net.Conn, error) {
	conn, err := w(ctx, address)
	if by, ok := ctx.Deadline(); ok && err == nil {
		err = conn.SetDeadline(by)
	}
	return conn, err
}

func throughput(ctx context.Context, w way, address string) (float64, error) {
	conn, err := w.open(ctx, address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	buf := make([]byte, 256<<10)
	began := time.Now()
	for range dialBytes / len(buf) {
		if _, err := io.ReadFull(conn, buf); err != nil {
			return 0, err
		}
	}
	return dialBytes / 1e6 / time.Since(began).Seconds(), nil
}

func roundTrips(ctx context.Context, w way, address string) (float64, error) {
	conn, err := w.open(ctx, address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	began := time.Now()
	for range dialTrips {
		if err := trip(conn); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(began).Microseconds()) / dialTrips, nil
}

func opens(ctx context.Context, w way, address string) (float64, error) {
	began := time.Now()
	for range dialOpens {
		conn, err := w.open(ctx, address)
		if err != nil {
			return 0, err
		}
		err = trip(conn)
		_ = conn.Close()
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds() * 1e3 / dialOpens, nil
}

// trip sends a byte and waits for it.
func trip(conn net.Conn) error {
	buf := make([]byte, 1)
	if _, err := conn.Write(buf); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, buf)
	return err
}

// target is a server on loopback; it stops when nobody is connected any more.
func target(ctx context.Context, serve func(net.Conn)) (address string, stop func(), err error) {
	l, err := loopback(ctx)
	if err != nil {
		return "", nil, err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			})
		}
	})
	return l.Addr().String(), func() { _ = l.Close(); wg.Wait() }, nil
}
