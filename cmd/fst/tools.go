package main

// tools lists the command's tools in alphabetical order.
var tools []*tool
