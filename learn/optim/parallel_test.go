package optim

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Of two errors that of the first job is returned, whichever comes first.
func TestParallelReturnsTheFirstJobsError(t *testing.T) {
	for late := range 2 {
		synctest.Test(t, func(t *testing.T) {
			errs := []error{errors.New("job 0"), errors.New("job 1")}
			var started [2]chan struct{}
			for i := range started {
				started[i] = make(chan struct{})
			}
			err := Parallel(2, 5, func(_, job int) error {
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
