package qemu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An ISO 9660 volume has sectors of 2 KiB, the first 16 of which are not its own.
// Numbers of its structures stand there twice, in both orders of bytes.
const (
	isoSector   = 2048
	isoPrimary  = 16
	isoEnd      = 17
	isoPathLE   = 18
	isoPathBE   = 19
	isoRoot     = 20
	isoContents = 21
	isoDirLen   = 34 // of a record of a directory, without its name
	maxIsoName  = 30
)

// isoFile is one file of a volume. Linux gives names back in lower case.
type isoFile struct {
	name    string
	content []byte
}

// isoVolume is a volume with these files in its root, without any extension of the
// format: what fits, which is less than a sector of names, is all that a seed needs.
func isoVolume(label string, made time.Time, files []isoFile) ([]byte, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b isoFile) int { return strings.Compare(a.name, b.name) })
	root := isoRecord("\x00", isoRoot, isoSector, true, made)
	dir := slices.Concat(root, isoRecord("\x01", isoRoot, isoSector, true, made))
	next := uint32(isoContents)
	var contents []byte
	for _, f := range files {
		if f.name == "" || len(f.name) > maxIsoName || len(f.content) > 64<<20 {
			return nil, fmt.Errorf("the file %q does not fit a seed", f.name)
		}
		size := uint32(len(f.content))
		dir = append(dir, isoRecord(strings.ToUpper(f.name)+".;1", next, size, false, made)...)
		contents = append(contents, isoPad(f.content)...)
		next = isoContents + uint32(len(contents)/isoSector)
	}
	if len(dir) > isoSector {
		return nil, errors.New("too many files for a seed")
	}
	return slices.Concat(
		make([]byte, isoPrimary*isoSector),
		isoDescriptor(label, next, root, made),
		isoPad([]byte("\xffCD001\x01")),
		isoPad(isoPath(binary.LittleEndian)), isoPad(isoPath(binary.BigEndian)),
		isoPad(dir), contents,
	), nil
}

func isoPad(b []byte) []byte {
	return slices.Concat(b, make([]byte, (isoSector-len(b)%isoSector)%isoSector))
}

func both32(n uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, n), n)
}

func both16(n uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, n), n)
}

// isoRecord is an entry of a directory.
func isoRecord(name string, at, size uint32, dir bool, made time.Time) []byte {
	made = made.UTC()
	flags := byte(0)
	if dir {
		flags = 2
	}
	b := slices.Concat(
		[]byte{0, 0}, both32(at), both32(size),
		[]byte{
			byte(made.Year() - 1900), byte(made.Month()), byte(made.Day()),
			byte(made.Hour()), byte(made.Minute()), byte(made.Second()), 0,
			flags, 0, 0,
		},
		both16(1), []byte{byte(len(name))}, []byte(name),
	)
	if len(b)%2 == 1 {
		b = append(b, 0)
	}
	b[0] = byte(len(b))
	return b
}

// isoPath is the table of directories, of which there is one.
func isoPath(order binary.AppendByteOrder) []byte {
	b := order.AppendUint32([]byte{1, 0}, isoRoot)
	return append(order.AppendUint16(b, 1), 0, 0)
}

const isoPathLen = 10

// isoDescriptor says what the volume is.
func isoDescriptor(label string, sectors uint32, root []byte, made time.Time) []byte {
	var b bytes.Buffer
	text := func(s string, n int) { b.WriteString(s + strings.Repeat(" ", n-len(s))) }
	b.WriteString("\x01CD001\x01\x00")
	text("LINUX", 32)
	text(label, 32)
	b.Write(make([]byte, 8))
	b.Write(both32(sectors))
	b.Write(make([]byte, 32))
	b.Write(both16(1))
	b.Write(both16(1))
	b.Write(both16(isoSector))
	b.Write(both32(isoPathLen))
	b.Write(binary.LittleEndian.AppendUint32(nil, isoPathLE))
	b.Write(make([]byte, 4))
	b.Write(binary.BigEndian.AppendUint32(nil, isoPathBE))
	b.Write(make([]byte, 4))
	b.Write(root)
	text("", 128)   // of which volumes it is one
	text("", 3*128) // who published it, prepared it, and with what
	text("", 3*37)  // copyright, abstract, bibliography
	date := made.UTC().Format("20060102150405") + "00\x00"
	never := strings.Repeat("0", 16) + "\x00"
	b.WriteString(date + date + never + never)
	b.WriteByte(1)
	return isoPad(b.Bytes())
}
