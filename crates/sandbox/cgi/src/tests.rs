mod answer;
mod request;
