// Probe is a container whose behaviour a test chooses by its arguments. Each
// argument is one step, performed in order; after the last one it exits 0.
//
//	env                 print the environment as one JSON object, name to value
//	args                print the arguments as one JSON array
//	user                print the user and group id
//	out:TEXT, err:TEXT  print a line
//	raw:TEXT            print without a line end
//	lines:N             print "line 0" … "line N-1", alternating the streams
//	long:N              print a line of N bytes
//	cat                 copy the input to the output, then print "err" to stderr
//	getenv:NAME         print the value of a variable without a line end
//	where               print the user, the group and the working directory
//	write:PATH:TEXT     write a file
//	read:PATH           print a file and a line end
//	dump:PATH           print a file as it is
//	remove:PATH         remove a file
//	dialler:PORT        dial for whoever asks there with ?network=…&to=…, and answer
//	                    with what comes back, or with the error as 502
//	again:PATH          exit 1 the first time; a file tells that there was one
//	count:PATH          print "run 1", the next time "run 2"; a file keeps the number
//	less:N:PATH         exit 1 once that number has come to N
//	stat:PATH           print the permissions, the user and the group of a file
//	mount:PATH          print "rw" or "ro"
//	eat:MIB             hold this much memory, touched
//	sleep:DURATION      wait
//	spin                keep a core busy for ever
//	close               close both outputs, go on
//	size:WxH            wait until the terminal has the size, print it
//	listen:PORT         accept and answer HTTP 200 with the hostname from now on
//	resolve:NAME        print the first IPv4 address of a name
//	get:URL             print what a URL answers with 200
//	ignore              ignore the stop signals from now on
//	end:PID             ask a process to end
//	wait                wait for a stop signal, print "stopping", go on
//	exit:CODE           exit
//
// PROBE_STEPS, a JSON array, stands in for missing arguments.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	steps := os.Args[1:]
	if given := os.Getenv("PROBE_STEPS"); len(steps) == 0 && given != "" {
		if err := json.Unmarshal([]byte(given), &steps); err != nil {
			fail(err)
		}
	}
	for _, step := range steps {
		name, arg, _ := strings.Cut(step, ":")
		if err := perform(name, arg, stop); err != nil {
			fail(fmt.Errorf("%s: %w", step, err))
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "probe:", err)
	os.Exit(2)
}

func perform(name, arg string, stop <-chan os.Signal) error {
	switch name {
	case "env":
		return printEnv()
	case "args":
		return json.NewEncoder(os.Stdout).Encode(os.Args)
	case "user":
		fmt.Println(os.Getuid(), os.Getgid())
	case "out":
		fmt.Println(arg)
	case "err":
		fmt.Fprintln(os.Stderr, arg)
	case "raw":
		fmt.Print(arg)
	case "lines":
		return printLines(arg)
	case "long":
		return printLong(arg)
	case "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, "err")
		return err
	case "getenv":
		fmt.Print(os.Getenv(arg))
	case "where":
		dir, err := os.Getwd()
		fmt.Println(os.Getuid(), os.Getgid(), dir)
		return err
	case "dump":
		data, err := os.ReadFile(arg)
		os.Stdout.Write(data)
		return err
	case "remove":
		return os.Remove(arg)
	case "count":
		return count(arg)
	case "less":
		n, path, _ := strings.Cut(arg, ":")
		return less(n, path)
	case "again":
		return again(arg)
	case "stat":
		return printStat(arg)
	case "spin":
		for n := 0; ; n++ {
			runtime.KeepAlive(n)
		}
	case "close":
		return errors.Join(os.Stdout.Close(), os.Stderr.Close())
	case "size":
		return awaitSize(arg)
	case "write":
		path, text, _ := strings.Cut(arg, ":")
		return os.WriteFile(path, []byte(text), 0o644)
	case "read":
		data, err := os.ReadFile(arg)
		fmt.Println(string(data))
		return err
	case "mount":
		printWritable(arg)
	case "eat":
		return eat(arg)
	case "sleep":
		return sleep(arg)
	case "listen":
		return listen(arg)
	case "dialler":
		return dialler(arg)
	case "resolve":
		return resolve(arg)
	case "get":
		return get(arg)
	case "ignore":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	case "end":
		pid, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGTERM)
	case "wait":
		<-stop
		fmt.Println("stopping")
	case "exit":
		code, err := strconv.Atoi(arg)
		if err == nil {
			os.Exit(code)
		}
		return err
	default:
		return fmt.Errorf("unknown step")
	}
	return nil
}

func printEnv() error {
	env := map[string]string{}
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	return json.NewEncoder(os.Stdout).Encode(env)
}

func printLines(arg string) error {
	n, err := strconv.Atoi(arg)
	for i := range n {
		out := os.Stdout
		if i%2 == 1 {
			out = os.Stderr
		}
		fmt.Fprintln(out, "line", i)
	}
	return err
}

// printLong writes a line whose every byte tells its position.
func printLong(arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	line := make([]byte, n+1)
	for i := range n {
		line[i] = 'a' + byte(i%26)
	}
	line[n] = '\n'
	_, err = os.Stdout.Write(line)
	return err
}

func printWritable(path string) {
	file := filepath.Join(path, ".probe")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		fmt.Println("ro")
		return
	}
	os.Remove(file)
	fmt.Println("rw")
}

// eaten keeps the memory reachable.
var eaten [][]byte

func eat(arg string) error {
	mib, err := strconv.Atoi(arg)
	for range mib {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 512 {
			block[i] = 1
		}
		eaten = append(eaten, block)
	}
	return err
}

func sleep(arg string) error {
	d, err := time.ParseDuration(arg)
	time.Sleep(d)
	return err
}

func resolve(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
	if err == nil {
		fmt.Println(addrs[0].Unmap())
	}
	return err
}

func listen(port string) error {
	l, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	srv := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, host) }),
	}
	go srv.Serve(l)
	return nil
}
