module joypod/tools/programs/pause

go 1.24
