package run

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Of two errors that of the first job is returned, whichever comes first.
func TestEachReturnsTheFirstJobsError(t *testing.T) {
	for late := range 2 {
		synctest.Test(t, func(t *testing.T) {
			errs := []error{errors.New("job 0"), errors.New("job 1")}
			var started [2]chan struct{}
			for i := range started {
				started[i] = make(chan struct{})
			}
			err := Each(2, 5, func(_, job int) error {
				if job > 1 {
					t.Errorf("job %d was taken after an error", job)
					return nil
				}
				close(started[job])
				<-started[1-job] // both are under way
				if job == late {
					time.Sleep(time.Second) // until the other's worker is done
				}
				return errs[job]
			})
			if err != errs[0] {
				t.Errorf("job %d last: %v", late, err)
			}
		})
	}
}

// A panic of a job on another goroutine reaches the caller, who can recover from it.
func TestEachBringsPanicsToItsCaller(t *testing.T) {
	for _, workers := range []int{1, 4} {
		func() {
			defer func() {
				v := recover()
				if p, ok := v.(*Panic); ok {
					if !strings.Contains(p.Stack, "TestEachBringsPanics") {
						t.Errorf("the stack does not lead to the job:\n%s", p.Stack)
					}
					v = p.Value
				}
				if v != "job 3" {
					t.Errorf("%d workers: recovered %v", workers, v)
				}
			}()
			Each(workers, 8, func(_, job int) error {
				if job == 3 {
					panic("job 3")
				}
				return nil
			})
			t.Errorf("%d workers: no panic", workers)
		}()
	}
}

func TestBlocksCoverAllOnce(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 100} {
		for _, workers := range []int{1, 3} {
			seen := make([]int, n)
			Blocks(workers, n, 8, func(w, from, to int) {
				if w < 0 || w >= workers || from%8 != 0 || to-from > 8 {
					t.Errorf("worker %d, block %d to %d", w, from, to)
				}
				for i := from; i < to; i++ {
					seen[i]++
				}
			})
			for i, c := range seen {
				if c != 1 {
					t.Fatalf("%d rows, %d workers: row %d was met %d times", n, workers, i, c)
				}
			}
		}
	}
}
