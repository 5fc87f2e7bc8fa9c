// SPDX-License-Identifier: GPL-2.0-only
// Dumps and restores a process by go-criu: usage: go_client CRIU IMAGES PID. Says what it was told; ends with 0 if all went well.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	criu "github.com/checkpoint-restore/go-criu/v5"
	"github.com/checkpoint-restore/go-criu/v5/rpc"
	"google.golang.org/protobuf/proto"
)

// What criu has told of, in its order.
type stages struct {
	names []string
	pid   int32
}

func (s *stages) note(name string) error {
	s.names = append(s.names, name)
	return nil
}

func (s *stages) PreDump() error             { return s.note("pre-dump") }
func (s *stages) PostDump() error            { return s.note("post-dump") }
func (s *stages) PreRestore() error          { return s.note("pre-restore") }
func (s *stages) NetworkLock() error         { return s.note("network-lock") }
func (s *stages) NetworkUnlock() error       { return s.note("network-unlock") }
func (s *stages) PostSetupNamespaces() error { return s.note("post-setup-namespaces") }
func (s *stages) PostResume() error          { return s.note("post-resume") }
func (s *stages) SetupNamespaces(pid int32) error {
	return s.note("setup-namespaces")
}
func (s *stages) PostRestore(pid int32) error {
	s.pid = pid
	return s.note("post-restore")
}

func require(err error, what string) {
	if err != nil {
		fmt.Printf("%s: %v\n", what, err)
		os.Exit(1)
	}
}

func main() {
	client := criu.MakeCriu()
	client.SetCriuPath(os.Args[1])
	version, err := client.GetCriuVersion()
	require(err, "version")
	fmt.Println("version", version)
	features, err := client.FeatureCheck(&rpc.CriuFeatures{MemTrack: proto.Bool(true), LazyPages: proto.Bool(true)})
	require(err, "features")
	fmt.Println("features", features.GetMemTrack(), features.GetLazyPages())

	images, err := os.Open(os.Args[2])
	require(err, "images")
	pid, err := strconv.Atoi(os.Args[3])
	require(err, "pid")
	options := func(log string) *rpc.CriuOpts {
		return &rpc.CriuOpts{ImagesDirFd: proto.Int32(int32(images.Fd())), LogLevel: proto.Int32(4), LogFile: proto.String(log),
			NotifyScripts: proto.Bool(true)}
	}
	dumped := &stages{}
	dump := options("dump.log")
	dump.Pid = proto.Int32(int32(pid))
	require(client.Dump(dump, dumped), "dump")
	fmt.Println("dump", strings.Join(dumped.names, " "))
	restored := &stages{}
	require(client.Restore(options("restore.log"), restored), "restore")
	fmt.Println("restore", strings.Join(restored.names, " "))
	if int(restored.pid) != pid {
		require(fmt.Errorf("it is %d now", restored.pid), "restored process")
	}
	// A second restore is refused, and the reason arrives.
	err = client.Restore(options("again.log"), &stages{})
	if err == nil {
		require(fmt.Errorf("a second process has the same pid"), "second restore")
	}
	fmt.Println("refused:", err)
}
