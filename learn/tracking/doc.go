// Package tracking links detections of a movie's frames into tracks that move, divide, split and
// merge. Every two consecutive frames are an assignment problem, solved exactly, with weights
// learnt from labelled tracks.
//
//	movies, err := tracking.ReadMovies(r, "cells.csv", nil) // frame, x, y, area, track, ...
//	m, result, err := tracking.Train(movies, nil, nil)
//	p, err := m.Link(ctx, movie, nil, 0)
//	p, err = m.Link(ctx, movie, &tracking.LinkOptions{
//		Corrections: []tracking.Correction{{Frame: 7, From: 3, To: 5, Force: true}},
//		Previous:    p.Events, // only what the correction touches is solved again
//	}, 0)
//	err = tracking.WriteChallenge(w, movie, tracking.Tracks(movie, p.Events)) // res_track.txt
//
// # The types to know
//
//   - Movie is frames of Detections, with Events and Edges where tracks are known.
//   - Event is what happens to one or two detections; Kind says what.
//   - Pair is the assignment problem of two frames: all Hypotheses that are near enough.
//   - Space makes pairs a space of outputs for the learners of package margin.
//   - Model links; Prediction is its answer, with a bound on what a better one could score.
//
// # The model
//
// A hypothesis is an event that may happen, with features f_h. It chooses the set of hypotheses
// with the largest sum of scores ⟨w, f_h⟩ among those that contain every detection of both frames
// exactly once. Package partition finds it: by augmenting paths where there are moves only, else by
// branch and bound. Detections can always appear and disappear, so that there is an answer.
//
// # What may be relied on
//
//   - An answer is the best one unless Prediction.Open says otherwise; Gap then bounds the loss.
//   - Corrections are obeyed, or an error names those that contradict each other.
//   - What is learnt and linked does not depend on the number of workers.
//   - Train uses no information of the movies that are linked later: units, gate and the kinds of
//     events are those of the training movies.
//
// Measures are those of the Cell Tracking Challenge; Compare counts, Judge adds the loss of events.
// Simulate draws movies with their truth, Planted draws problems that are separable.
//
// # References
//
// X. Lou and F. Hamprecht, "Structured learning for cell tracking", NIPS 2011. P. Matula et al.,
// "Cell tracking accuracy measurement based on comparison of acyclic oriented graphs", PLoS ONE 10,
// 2015. V. Ulman et al., "An objective comparison of cell-tracking algorithms", Nature Methods 14,
// 2017.
package tracking
