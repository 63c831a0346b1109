package output

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Leftovers of a killed process are found again by their names: each target has a few names beside
// it, and the temporary file of a living process is locked. The lock goes with the process, however
// that ends. Two alternatives were rejected. A file without a name (O_TMPFILE) leaves nothing, but
// it exists only on Linux and some file systems, and needs a name on the way to replace another
// file. Names drawn at random require reading the whole folder.
//
// Where locks are missing (Windows, some network file systems), names in use and names
// left behind cannot be told apart, and stay.

// slots is the number of names beside a target. If more writers use one target at once, the others
// get random names, which are not cleaned up.
const slots = 8

func slotName(path string, slot int) string {
	return fmt.Sprintf("%s.tropica%d.tmp", short(path), slot)
}

// longest is how long a name may be to which a suffix is added. Most systems take 255 bytes.
const longest = 255 - len(".tropica0.tmp")

// short returns path where its name leaves room for a suffix, else another in the same folder.
func short(path string) string {
	dir, name := filepath.Split(path)
	if len(name) <= longest {
		return path
	}
	sum := fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(name)))
	return dir + name[:longest-len(sum)] + sum
}

// temporary makes a file beside path that Stop knows of, and removes those that
// processes which are no more left for the same path. free lets go of its lock.
func temporary(path string, perm fs.FileMode) (f *os.File, temp string, free func(), err error) {
	known := leftIn(filepath.Dir(path))
	for slot := range slots {
		name := slotName(path, slot)
		removed := (known == nil || known[filepath.Base(name)]) && removeAbandoned(name)
		if f != nil {
			if known != nil && len(known) == 0 {
				break
			}
			continue
		}
		g, err := create(name, perm)
		if errors.Is(err, fs.ErrExist) && removed {
			g, err = create(name, perm)
		}
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, "", nil, err
		}
		unlock, err := lock(g)
		if err == errLocked || err == nil && !isAt(g, name) {
			// Another process found it before it was locked, and removes it or has removed it.
			g.Close()
			forget(name)
			if unlock != nil {
				unlock()
			}
			continue
		}
		f, temp, free = g, name, unlock // any other error means that there are no locks here
	}
	for f == nil {
		temp = fmt.Sprintf("%s.%08x.tmp", short(path), rand.Uint32())
		if f, err = create(temp, perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, "", nil, err
		}
	}
	return f, temp, free, nil
}

// folders are those in which this process has made temporary files, each with the names of such
// files that existed when it made the second. A process that writes thousands of files into a
// folder then does not look for slots names of each. Nil means that it has made only one.
var folders struct {
	sync.Mutex
	left map[string]map[string]bool
}

// leftIn returns the names in a folder that removeAbandoned should look at; nil is any.
func leftIn(dir string) map[string]bool {
	folders.Lock()
	defer folders.Unlock()
	known, again := folders.left[dir]
	if known != nil {
		return known
	}
	if folders.left == nil {
		folders.left = map[string]map[string]bool{}
	}
	folders.left[dir] = nil
	if !again {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil // it may be written in, but not read
	}
	defer f.Close()
	known = map[string]bool{}
	for {
		names, err := f.Readdirnames(1000)
		for _, name := range names {
			if strings.HasSuffix(name, ".tmp") {
				known[name] = true
			}
		}
		if err == io.EOF {
			folders.left[dir] = known
			return known
		}
		if err != nil {
			return nil
		}
	}
}

// forget keeps Stop from removing a file that is no longer this process'.
func forget(temp string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	delete(unfinished.temps, temp)
}

// isAt reports whether name is still a name of the file f.
func isAt(f *os.File, name string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(name)
	return err == nil && os.SameFile(a, b)
}

// removeAbandoned removes a temporary file if no process holds it, and reports whether it did.
// While the lock is held, no other process removes or renames the file, so the name still belongs
// to it.
func removeAbandoned(name string) bool {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := openHere(name)
	if err != nil {
		return false
	}
	defer f.Close()
	unlock, err := lock(f)
	if err != nil {
		return false
	}
	defer unlock()
	return isAt(f, name) && os.Remove(name) == nil
}

// errLocked is lock's error for a file that another holds.
var errLocked = errors.New("locked by another process")
