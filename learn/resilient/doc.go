// Package resilient learns from data where some examples are wrong, rare or hard. It lets the loss
// of each example rise as far as that pays, and charges for it. The multiplier of an example
// measures how hard it is to fit. Wrong annotations therefore do little harm, and can be found.
//
//	h := resilient.Huber{Delta: 0.5}
//	f, err := resilient.NewObjective(examples, h)                // Σ w h(loss), for any solver
//	r, err := optim.OWLQN{}.Minimize(f, start, control)
//	hard, err := f.Difficulty(r.X, 5, nil, minimize, show)      // ranked by models of other folds
//
// # The problem
//
// Constrained learning requires losses l_n ≤ 0, which may be infeasible. Here l_n ≤ u_n, and h(u_n)
// is paid for each relaxation (chapter 4 of M. Peifer, "Balancing fit and complexity in learned
// representations"). At the equilibrium h'(u) is the multiplier of the constraint: one more bit of
// relaxation costs as much as it brings. Three forms are the same:
//
//   - h'(u) = λ(u), the multipliers of the problem with right-hand sides u (definition 5,
//     proposition 5);
//   - min over model and u of the objective plus Σ h(u_n), losses at most u_n (proposition 6);
//   - min over the model of the objective plus Σ h([l_n]_+), since for h that does not fall the
//     best u_n is [l_n]_+. Then λ_n = h'(l_n): training is reweighted, smoothly, by losses.
//
// Quadratic weighs an example by its loss. Huber does so up to Delta: the influence of outliers is
// capped, not removed. Outliers still count more than in ordinary training, where all weights are
// one, so do not expect miracles with many wrong labels. CVaR considers only the largest losses.
// Linear is ordinary training.
//
// # The types to know
//
// A Relaxation is h. Examples is a learner that gives the loss of every example separately.
// Objective makes the third form of it, which packages linear, sequence and g2p minimise by L-BFGS.
// A Program is a learner with any constraints, by minibatches. Descent solves it by the primal-dual
// algorithm, as package network below does; it also offers ITLM and trimming for comparison.
// Boosting (package boost) updates the weights every few rounds. Difficulty lists the examples with
// the largest multipliers; models keep it in their files.
//
// # What may be relied on
//
//   - An example that occurs twice equals an example of weight 2. Sequences and words have the mean
//     loss over their positions, and count by their number: with Linear nothing changes.
//   - One convention: means in Descent, with multipliers that do not depend on the number of
//     examples; sums in Objective, as the learners have them. The multipliers are the same.
//   - Multipliers are kept in [0, MaxLambda]; outside, h(u) - λu has no minimum.
//   - Descent and Objective agree where the problem is convex; for networks Descent reports how far
//     from a saddle point it ended (Residuals). Its bound is proposition 7. For a class that
//     approximates all functions to ε, the value at an equilibrium is at most h(u* + Lε) - h(u*) +
//     Lε above that of all functions. The squared distance of the models is bounded too (theorem
//     6).
//   - Results have the same bits for any number of workers; Descent and boosting give them after a
//     resumption, too. L-BFGS, which minimises an Objective, resumes with a new history.
//
// # Multipliers of a model that fits everything
//
// A model with more weights than examples fits wrong labels too, and its multipliers forget them.
// Remedies are a stronger penalty, fewer passes, or OutOfSample: multipliers of models that did not
// see the example.
package resilient
