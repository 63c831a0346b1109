// Command learn trains sequence models on the loss that they are judged by.
package main
