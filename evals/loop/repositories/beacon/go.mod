module example.test/beacon

go 1.21
