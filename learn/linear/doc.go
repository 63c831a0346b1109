// Package linear fits linear models to tables: logistic regression for two classes, its
// multinomial form for more, and ridge, Huber's or lasso regression for numbers.
//
//	m, result, err := linear.Train(t, &linear.Options{L2: 10}, nil)
//	s, err := m.Predict(ctx, rows, 0)
//	s.Class(0), s.Probability[:2]
//
// # The types to know
//
// Train takes Options and gives a Model. A Design is a table as numbers, one for each Feature. A
// Problem is a loss over a design; any solver of package optim minimises its Objective.
//
// # What may be relied on
//
//   - The objective is the sum of the losses of the rows, with weights of mean 1, plus
//     L2/2 |w|² + L1 |w|₁. With L2 = 1 it is that of scikit-learn's LogisticRegression(C=1),
//     and L2 is its Ridge's alpha, on columns standardised to mean 0 and variance 1.
//   - Weights are penalised on standardised columns, constants not at all. Columns of few
//     ones (one row in ten or less) are left as they are.
//   - A missing value is the column's mean; a level unseen in training adds nothing.
//   - Weights of rows times a constant, and the number of workers, change no bit of a model.
//   - The problem is convex: the same model is found from every start, up to where the
//     solver stops.
package linear
