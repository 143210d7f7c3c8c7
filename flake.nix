{
  description = "Turns conversation logs into memories with verified quotes, in one SQLite file";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
      systems = [
        "aarch64-darwin"
        "aarch64-linux"
        "x86_64-darwin"
        "x86_64-linux"
      ];
      eachSystem = build: nixpkgs.lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
    in
    {
      packages = eachSystem (pkgs: rec {
        default = afterthought;
        afterthought = pkgs.rustPlatform.buildRustPackage {
          pname = "afterthought";
          inherit (manifest) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          # The tests are for a checkout: some start servers, and some compare times.
          doCheck = false;
          postInstall = pkgs.lib.optionalString (pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform) ''
            installShellCompletion --cmd afterthought \
              --bash <($out/bin/afterthought config completions bash) \
              --fish <($out/bin/afterthought config completions fish) \
              --zsh <($out/bin/afterthought config completions zsh)
          '';
          meta = {
            description = "Turns conversation logs into memories with verified quotes, in one SQLite file";
            license = [
              pkgs.lib.licenses.mit
              pkgs.lib.licenses.asl20
            ];
            mainProgram = "afterthought";
          };
        };
      });

      devShells = eachSystem (pkgs: {
        default = pkgs.mkShell {
          packages = with pkgs; [
            cargo
            cargo-deny
            clippy
            just
            rustc
            rustfmt
          ];
        };
      });
    };
}
