use std::process::exit;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["check", file] => {
            let text = std::fs::read_to_string(file).unwrap_or_else(|e| {
                eprintln!("rotlog: {file}: {e}");
                exit(2)
            });
            match rotlog::Config::parse(&text) {
                Ok(c) => println!("{c:#?}"),
                Err(e) => {
                    eprintln!("rotlog: {file}: {e}");
                    exit(1)
                }
            }
        }
        _ => {
            eprintln!("usage: rotlog check FILE");
            exit(64)
        }
    }
}
