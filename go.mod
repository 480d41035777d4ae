module netwhy

go 1.26.8
