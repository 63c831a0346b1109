// Package table holds rows of features, what is to be predicted from them, and the sources they
// come from. It also reads them.
//
// A Table has Columns of float32: numeric (NaN is missing) or categorical (the index of a level).
// It may have a Target (an index of Classes, or a number), a Source (the domain of each row, an
// index of Sources) and a Weight. Read and Open take CSV, TSV, LIBSVM and IDX, compressed with gzip
// or not; Options name the columns by name or by place. To read data for an existing model, give
// the training table (or its Schema) as Options.Like. Columns are then found by name and put in its
// order.
//
//	t, err := table.Read(r, "adult.csv", &table.Options{Target: "income", Source: "education"})
//	new, err := table.Read(r, "new.csv", &table.Options{Like: t.Schema()})
//
// # What may be relied on
//
//   - Every non-nil slice of a table has Rows entries, and there are rows. Values are finite or
//     NaN, targets and weights finite, weights not negative.
//   - Numbers are the nearest float32 (targets and weights: float64) of what is
//     written.
//   - Levels, classes and sources are sorted: as numbers if they all are, else by
//     their bytes. Classes that are equal as numbers (1, +1, 1.0) are one.
//   - Nothing depends on the number of workers, neither the table nor the errors; the first error
//     in the input is returned.
//   - Errors are *Error with file, line, row, column and remedy. Warnings lists what is odd but
//     usable: constant columns, levels unseen in training, identifiers, integers read as classes, a
//     header of numbers.
//   - Input is bounded by Options.MaxCells, MaxRecord, MaxLevels and, if they are set, MaxRows and
//     MaxBytes. Memory grows with what was read, not with what a header promises.
//
// # What a column is
//
// The first 1000 rows decide, at most 1 MiB of them. A column whose values are all or mostly
// numbers is numeric, and a word in it later is an error. Guessing that such a column is
// categorical would turn every mistyped number into a level. List it in Options.Categorical if it
// is. A column with mostly words is categorical, and then takes anything.
//
// Words that are numbers or dates once marks are taken away (1,234 1,5 $12 45% 31.12.2024) are an
// error too. It names in Error.Fixes the fields of Options that read them: Decimal, Thousands,
// Symbols, Dates. Table.Reading has what was in force, and Like applies it to tables to come.
// Columns of Options.ID are no features; Table.ID has their texts.
//
// # Sparse tables
//
// A LIBSVM file of many cells and few entries stays sparse: Table.Sparse has the entries, column
// by column, and Columns have names only. Learners on histograms take both forms and give the
// same model. Others call Table.Dense, which is an error where that would take too much memory.
// The whole table is one or the other: a mixture would have every learner handle both
// in one loop, for a few frequent words.
//
// # Splits
//
// Stratified makes folds for cross-validation, with classes and sources in proportion. MakeTrials
// and MakeSourceFolds make them by the rule of the recorded experiments, which draws as Python's
// random.Random does; ReadTrials and ReadSourceSplits read their files.
//
// # How it is read
//
// The caller's goroutine cuts blocks of 1 MiB at the ends of records (an even number of quotes
// before the newline). Workers parse them, and they are joined in order. Neither the text nor a
// string for each field is ever kept. A number is scanned once, its digits as an integer, and one
// division gives its value. For one in fifty million strconv must decide.
package table
