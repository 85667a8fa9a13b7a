# Everything a person runs. `make help` lists it.
.PHONY: help demo build test sanitize autobahn bench viewers lint format docs man clean
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18
	@echo '  demo takes PORT=8080 ROOM=demo HOST=127.0.0.1 CAPTURE=noise|pattern|camera|screen|file:PATH|image:PATH'

demo: ## signaling server and a publisher; open the printed URL in a browser
	@scripts/demo

build: ## release build
	@scripts/setup
	@swift build -c release

test: ## all tests: unit, loopback, browser, outside package, sanitizers
	@scripts/test

sanitize: ## unit and loopback tests under the thread and address sanitizers
	@scripts/test sanitizers

autobahn: ## Autobahn's websocket tests, where there is a Python 2
	@scripts/setup
	@swift build --product emisora
	@scripts/autobahn

bench: ## CPU of the publisher against bare libvpx + libopus
	@scripts/setup
	@scripts/bench

viewers: ## CPU of the publisher for each of its viewers, and viewers per core
	@scripts/viewers

lint: ## formatting, imports and floors
	@scripts/lint

format: ## formats the sources in place
	@swift format -i -r Package.swift Sources Tests signaling samples

docs: ## DocC pages into .build/docs
	@scripts/docs

man: ## man pages into .build/man
	@scripts/man

clean: ## removes build products
	@rm -rf .build
