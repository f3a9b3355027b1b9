package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"
)

// exitEarly logs like a program that fails to start, and returns its exit code.
func (s settings) exitEarly(ctx context.Context, out io.Writer) int {
	for i := range s.logLines {
		fmt.Fprintf(out, "web: start-up line %d of %d\n", i+1, s.logLines)
	}
	pause(ctx, s.after)
	fmt.Fprintf(out, "web: giving up with code %d\n", s.exitCode)
	return s.exitCode
}

// acceptAndSayNothing holds every connection open until ctx ends.
func acceptAndSayNothing(ctx context.Context, l net.Listener) error {
	var held []net.Conn
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		conn, err := l.Accept()
		if err != nil {
			for _, c := range held {
				c.Close()
			}
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		held = append(held, conn)
	}
}

// eatMemory takes step bytes every 10 ms, and writes to them so that the kernel
// has to give them, until the kernel kills the process or ctx ends.
func eatMemory(ctx context.Context, step int) {
	var taken [][]byte
	for pause(ctx, 10*time.Millisecond) {
		block := make([]byte, step)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		taken = append(taken, block)
		if len(taken)%64 == 0 {
			fmt.Printf("web: holding %d MiB\n", len(taken)*step>>20)
		}
	}
}
